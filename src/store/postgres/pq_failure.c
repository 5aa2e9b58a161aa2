#include "store/postgres/pq_failure.h"

#include <string.h>

#include "base/array.h"

enum { STATE_LEN = 5 };

/* By prefix of the SQLSTATE. IK_ERR_GONE means that trying again later may help. All other states
 * are IK_ERR_INVALID: the statement would fail again. */
static const struct {
    const char *state;
    ik_error_code_t code;
} meanings[] = {
    {"08", IK_ERR_GONE},      /* connection */
    {"25006", IK_ERR_DENIED}, /* read-only server */
    {"25P03", IK_ERR_GONE},   /* idle for too long inside a transaction */
    {"28", IK_ERR_DENIED},    /* authentication */
    {"3D000", IK_ERR_DENIED}, /* no such database */
    {"40", IK_ERR_GONE},      /* deadlock and other rollbacks */
    {"42501", IK_ERR_DENIED}, /* privileges */
    {"53", IK_ERR_GONE},      /* disk full, too many connections */
    {"55P03", IK_ERR_GONE},   /* lock timeout */
    {"57", IK_ERR_GONE},      /* timeouts, shutdown, starting up */
    {"58", IK_ERR_GONE},      /* system error on the server */
    {"F0", IK_ERR_GONE},      /* the server's configuration */
    {"XX", IK_ERR_GONE},      /* internal error of the server */
    {"23505", IK_ERR_GONE},   /* unique violation: a concurrent writer was faster */
};

static ik_error_code_t code_of(const char *state)
{
    for (size_t i = 0; i < IK_LENGTH(meanings); i++) {
        if (strncmp(state, meanings[i].state, strlen(meanings[i].state)) == 0) {
            return meanings[i].code;
        }
    }
    return IK_ERR_INVALID;
}

/* Makes an error of the first line of the message, without the password. */
static res_t fail(const ik_pq_url_t *url, ik_error_code_t code, const char *message)
{
    int len = (int)strcspn(message, "\n");
    return ik_pq_url_mask(url, ik_error_make(code, "%s: %.*s", url->name, len, message));
}

res_t ik_pq_failure_of_result(const ik_pq_library_t *library, const ik_pq_url_t *url,
                              const ik_pq_result_t *result)
{
    const char *state = library->resultErrorField(result, IK_PQ_FIELD_STATE);
    const char *message = library->resultErrorField(result, IK_PQ_FIELD_MESSAGE);
    if (state == NULL || message == NULL) {
        return fail(url, IK_ERR_GONE, "the connection was lost");
    }
    return fail(url, code_of(state), message);
}

/* Finds the SQLSTATE in a verbose message, "FATAL:  28P01: password authentication failed …" in any
 * language. For a refused connection libpq reports it nowhere else. */
static const char *find_state(const char *message)
{
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (const char *at = message; (at = strstr(at, ":  ")) != NULL; at++) {
        const char *state = at + strlen(":  ");
        if (strspn(state, letters) == STATE_LEN && strncmp(state + STATE_LEN, ": ", 2) == 0) {
            return state;
        }
    }
    return NULL;
}

/* Skips libpq's description of the server; url->name says the same. */
static const char *skip_server(const char *message)
{
    static const char end[] = " failed: ";
    const char *found = strstr(message, end);
    bool in_first_line = found != NULL && memchr(message, '\n', (size_t)(found - message)) == NULL;
    return in_first_line ? found + strlen(end) : message;
}

res_t ik_pq_failure_of_connection(const ik_pq_library_t *library, const ik_pq_url_t *url,
                                  const ik_pq_conn_t *conn)
{
    const char *message = library->errorMessage(conn);
    const char *state = find_state(message);
    if (state != NULL) {
        return fail(url, code_of(state), state + STATE_LEN + 2);
    }
    if (library->connectionNeedsPassword(conn)) {
        return fail(url, IK_ERR_DENIED, "the server asks for a password and the URL has none");
    }
    /* libpq refuses a value of the URL. It quotes the value, which may be part of a password. */
    message = skip_server(message);
    if (strncmp(message, "invalid ", 8) == 0 || strncmp(message, "could not match ", 16) == 0) {
        return ik_pq_url_refuse(message);
    }
    return fail(url, IK_ERR_GONE, message);
}

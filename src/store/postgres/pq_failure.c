#include "store/postgres/pq_failure.h"

#include <string.h>

#include "base/array.h"

enum { STATE_LEN = 5 };

/* By the beginning of the SQLSTATE. What is not listed is a statement that this server does not
 * take: the same again would fail again. */
static const struct {
    const char *state;
    ik_error_code_t code;
} meanings[] = {
    {"08", IK_ERR_GONE},      /* connection */
    {"25006", IK_ERR_DENIED}, /* the server only reads */
    {"25P03", IK_ERR_GONE},   /* idle for too long inside a transaction */
    {"28", IK_ERR_DENIED},    /* who are you */
    {"3D000", IK_ERR_DENIED}, /* no such database */
    {"40", IK_ERR_GONE},      /* deadlock and the like: again, later */
    {"42501", IK_ERR_DENIED}, /* privileges */
    {"53", IK_ERR_GONE},      /* disk full, too many connections: again, later */
    {"55P03", IK_ERR_GONE},   /* a lock did not come free in time */
    {"57", IK_ERR_GONE},      /* timeouts, shutdown, starting up */
    {"58", IK_ERR_GONE},      /* the server's own system */
    {"F0", IK_ERR_GONE},      /* the server's configuration */
    {"XX", IK_ERR_GONE},      /* inside of the server */
    {"23505", IK_ERR_GONE},   /* somebody was faster: again, later */
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

/* The first line of a message. */
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

/* A verbose message of the server reads "FATAL:  28P01: password authentication failed …", whatever
 * the language: the only place where libpq tells the state of a refused connection. */
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

/* Without what libpq says about where it tried, which the URL's name says already. */
static const char *skip_place(const char *message)
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
        return fail(url, IK_ERR_DENIED, "it wants a password and the URL has none");
    }
    /* A value of the URL that libpq itself refuses; its quotes may hold what was meant to be a
     * password. */
    message = skip_place(message);
    if (strncmp(message, "invalid ", 8) == 0 || strncmp(message, "could not match ", 16) == 0) {
        return ik_pq_url_refuse(message);
    }
    return fail(url, IK_ERR_GONE, message);
}

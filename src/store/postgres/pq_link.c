#include "store/postgres/pq_link.h"

#include <poll.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "store/postgres/pq_address.h"
#include "store/postgres/pq_failure.h"
#include "store/postgres/pq_wait.h"

enum {
    CONNECT_MS = 5000,
    COMMAND_MS = 15000,
    /* Keepalives on both sides and a limit on idle transactions: a machine that vanished must not
     * keep its locks for the usual two hours. */
    KEEPALIVE_IDLE_S = 30,
    KEEPALIVE_INTERVAL_S = 10,
    KEEPALIVE_COUNT = 3,
    IDLE_TRANSACTION_MS = 120000, /* waiting for slow parameters counts as idle */
    LAST_WORDS_MAX = 8,
    PREPARED_MAX = 16,
    KEYWORDS_MAX = 16,
};

struct ik_pq_link {
    const ik_pq_library_t *library;
    ik_pq_url_t *url;
    ik_pq_conn_t *conn; /* NULL when there is none */
    bool doomed;        /* the server announced that it closes the connection */
    ik_pq_patience_t patience;
    int connect_ms;
    int command_ms;
    const char *prepared[PREPARED_MAX]; /* statements on this connection, named by index */
    size_t prepared_count;
};

static int on_free(ik_pq_link_t *link)
{
    ik_pq_link_close(link);
    return 0;
}

res_t ik_pq_link_create(const void *ctx, const ik_store_postgres_options_t *options,
                        ik_pq_link_t **out)
{
    const ik_pq_library_t *library;
    TRY(ik_pq_library_load(&library));
    ik_pq_link_t *link = ik_new(ctx, ik_pq_link_t);
    talloc_set_destructor(link, on_free);
    link->library = library;
    link->patience.wake_fd = options->wake_fd;
    link->connect_ms = options->connect_ms > 0 ? options->connect_ms : CONNECT_MS;
    link->command_ms = options->command_ms > 0 ? options->command_ms : COMMAND_MS;
    res_t parsed = ik_pq_url_parse(link, library, options->url, &link->url);
    if (is_err(&parsed)) {
        talloc_free(link);
        return parsed;
    }
    *out = link;
    return OK;
}

void ik_pq_link_close(ik_pq_link_t *link)
{
    if (link->conn != NULL) {
        link->library->finish(link->conn);
    }
    link->conn = NULL;
    link->doomed = false;
    link->prepared_count = 0;
}

const char *ik_pq_link_user(const ik_pq_link_t *link)
{
    return link->conn == NULL ? "?" : link->library->user(link->conn);
}

const char *ik_pq_link_database(const ik_pq_link_t *link)
{
    return link->conn == NULL ? "?" : link->library->db(link->conn);
}

const char *ik_pq_link_name(const ik_pq_link_t *link)
{
    return link->url->name;
}

/* --- waiting ----------------------------------------------------------------------------- */

static void start_clock(ik_pq_link_t *link, int ms)
{
    link->patience.deadline_ms = ik_clock_now_ms() + ms;
}

static res_t wait_for(ik_pq_link_t *link, short events)
{
    switch (ik_pq_wait(link->library->socket(link->conn), events, &link->patience)) {
    case IK_PQ_WAIT_WOKEN:
        return ERR(GONE, "%s: cancelled", link->url->name);
    case IK_PQ_WAIT_LATE:
        return ERR(GONE, "%s did not answer in time", link->url->name);
    case IK_PQ_WAIT_READY:
        break;
    }
    return OK;
}

/* Closes a connection that is of no use any more. Returns the reason. */
static res_t lose(ik_pq_link_t *link, res_t reason)
{
    ik_pq_link_close(link);
    return reason;
}

static res_t lose_connection(ik_pq_link_t *link)
{
    res_t reason = ik_pq_failure_of_connection(link->library, link->url, link->conn);
    reason.code = IK_ERR_GONE;
    return lose(link, reason);
}

/* Reads what arrived unasked. A server that shuts down sends a notice before it closes. */
static bool is_alive(ik_pq_link_t *link)
{
    ik_pq_patience_t now = {.wake_fd = -1};
    bool alive = true;
    for (int i = 0; i < LAST_WORDS_MAX && alive; i++) {
        if (ik_pq_wait(link->library->socket(link->conn), POLLIN, &now) != IK_PQ_WAIT_READY) {
            break;
        }
        alive = link->library->consumeInput(link->conn) != 0;
        link->library->isBusy(link->conn); /* parses the input and calls on_notice */
    }
    return alive && !link->doomed;
}

bool ik_pq_link_is_up(ik_pq_link_t *link)
{
    if (link->conn != NULL && !is_alive(link)) {
        ik_pq_link_close(link);
    }
    return link->conn != NULL;
}

/* --- connecting -------------------------------------------------------------------------- */

/* Parameters in the order libpq reads them; later ones win. */
typedef struct {
    const char *keywords[KEYWORDS_MAX + 1];
    const char *values[KEYWORDS_MAX + 1];
    size_t count;
} settings_t;

static void set_text(settings_t *settings, const char *keyword, const char *value)
{
    if (value != NULL) {
        settings->keywords[settings->count] = keyword;
        settings->values[settings->count++] = value;
    }
}

static void set_number(const void *ctx, settings_t *settings, const char *keyword, int value)
{
    set_text(settings, keyword, ik_sprintf(ctx, "%d", value));
}

/* Replaces libpq's receiver, which prints. An error outside a statement arrives here, too. */
static void on_notice(void *data, const ik_pq_result_t *notice)
{
    ik_pq_link_t *link = data;
    const char *severity = link->library->resultErrorField(notice, IK_PQ_FIELD_SEVERITY);
    link->doomed = link->doomed || (severity != NULL && strcmp(severity, "FATAL") == 0);
}

static res_t poll_connection(ik_pq_link_t *link)
{
    const ik_pq_library_t *library = link->library;
    if (library->status(link->conn) == IK_PQ_CONNECTION_BAD) {
        return ik_pq_failure_of_connection(library, link->url, link->conn);
    }
    for (short events = POLLOUT;;) {
        TRY(wait_for(link, events));
        int state = library->connectPoll(link->conn);
        if (state == IK_PQ_POLLING_OK) {
            return OK;
        }
        if (state == IK_PQ_POLLING_FAILED) {
            return ik_pq_failure_of_connection(library, link->url, link->conn);
        }
        events = state == IK_PQ_POLLING_READING ? POLLIN : POLLOUT;
    }
}

/* The server's timeouts are shorter than ours: when the server gives up, the connection stays
 * usable and no work continues unattended. */
static res_t set_up_server(const void *ctx, ik_pq_link_t *link)
{
    static const char sql[] = "SELECT set_config('statement_timeout', $1, false),"
                              " set_config('lock_timeout', $2, false),"
                              " set_config('idle_in_transaction_session_timeout', $3, false),"
                              " set_config('tcp_keepalives_idle', $4, false),"
                              " set_config('tcp_keepalives_interval', $5, false),"
                              " set_config('tcp_keepalives_count', $6, false),"
                              " set_config('extra_float_digits', '3', false),"
                              " set_config('default_transaction_isolation', $7, false),"
                              " set_config('search_path', 'pg_catalog, pg_temp', false)";
    const int figures[] = {link->command_ms / 4 * 3, link->command_ms / 2, IDLE_TRANSACTION_MS,
                           KEEPALIVE_IDLE_S,         KEEPALIVE_INTERVAL_S, KEEPALIVE_COUNT};
    ik_pq_params_t params;
    ik_pq_params_init(&params, ctx);
    for (size_t i = 0; i < IK_LENGTH(figures); i++) {
        ik_pq_params_add_number(&params, figures[i]);
    }
    ik_pq_params_add_text(&params, "read committed");
    return ik_pq_link_run(ctx, link, sql, &params, NULL);
}

static res_t connect_with(const void *ctx, ik_pq_link_t *link)
{
    const ik_pq_library_t *library = link->library;
    ik_pq_address_t address;
    settings_t settings = {0};
    start_clock(link, link->connect_ms);
    TRY(ik_pq_address_find(ctx, link->url, &link->patience, &address));
    set_text(&settings, "fallback_application_name", "ikigai");
    set_text(&settings, "keepalives", "1");
    set_number(ctx, &settings, "keepalives_idle", KEEPALIVE_IDLE_S);
    set_number(ctx, &settings, "keepalives_interval", KEEPALIVE_INTERVAL_S);
    set_number(ctx, &settings, "keepalives_count", KEEPALIVE_COUNT);
    set_number(ctx, &settings, "tcp_user_timeout", link->command_ms);
    set_text(&settings, "dbname", link->url->text);
    set_text(&settings, "host", address.host);
    set_text(&settings, "hostaddr", address.hostaddr);
    set_text(&settings, "port", address.port);
    set_text(&settings, "client_encoding", "UTF8");
    link->conn = library->connectStartParams(settings.keywords, settings.values, 1);
    if (link->conn == NULL) {
        ik_alloc_fail();
    }
    library->setNoticeReceiver(link->conn, on_notice, link);
    library->setErrorVerbosity(link->conn, IK_PQ_ERRORS_VERBOSE); /* pq_failure.c says why */
    TRY(poll_connection(link));
    library->setnonblocking(link->conn, 1);
    const char *encoding = library->parameterStatus(link->conn, "server_encoding");
    if (encoding == NULL || strcmp(encoding, "UTF8") != 0) {
        return ERR(INVALID, "%s: database %s has ENCODING '%s'; ikigai needs 'UTF8'",
                   link->url->name, ik_pq_link_database(link), encoding == NULL ? "?" : encoding);
    }
    return set_up_server(ctx, link);
}

res_t ik_pq_link_connect(ik_pq_link_t *link)
{
    ik_pq_link_close(link);
    void *scratch = talloc_new(link);
    res_t connected = connect_with(scratch, link);
    talloc_free(scratch);
    return is_ok(&connected) ? OK : lose(link, connected);
}

/* --- statements -------------------------------------------------------------------------- */

/* Waits for the socket, reads what arrived and restarts the clock. */
static res_t exchange(ik_pq_link_t *link, short events)
{
    res_t waited = wait_for(link, events);
    if (is_err(&waited)) {
        return lose(link, waited);
    }
    start_clock(link, link->command_ms);
    return link->library->consumeInput(link->conn) ? OK : lose_connection(link);
}

/* Reads while it sends: a server with a long error message stops receiving until it is read. */
static res_t send_all(ik_pq_link_t *link)
{
    for (;;) {
        int left = link->library->flush(link->conn);
        if (left < 0) {
            return lose_connection(link);
        }
        if (left == 0) {
            return OK;
        }
        TRY(exchange(link, POLLIN | POLLOUT));
    }
}

/* *out is NULL after the last result. */
static res_t next_result(ik_pq_link_t *link, ik_pq_result_t **out)
{
    while (link->library->isBusy(link->conn)) {
        TRY(exchange(link, POLLIN));
    }
    *out = link->library->getResult(link->conn);
    return OK;
}

/* Sends the statement and receives its result. */
static res_t receive(const void *ctx, ik_pq_link_t *link, ik_pq_rows_t **rows)
{
    ik_pq_result_t *result;
    ik_pq_result_t *more;
    *rows = NULL;
    TRY(send_all(link));
    TRY(next_result(link, &result));
    if (result == NULL) {
        return lose_connection(link);
    }
    *rows = ik_pq_rows_adopt(ctx, link->library, result);
    for (;;) {
        TRY(next_result(link, &more));
        if (more == NULL) {
            return OK;
        }
        link->library->clear(more);
    }
}

static res_t check_result(ik_pq_link_t *link, const ik_pq_rows_t *rows)
{
    int status = link->library->resultStatus(rows->result);
    if (status == IK_PQ_COMMAND_OK || status == IK_PQ_TUPLES_OK) {
        return OK;
    }
    res_t failure = ik_pq_failure_of_result(link->library, link->url, rows->result);
    if (link->library->status(link->conn) == IK_PQ_CONNECTION_BAD) {
        failure.code = IK_ERR_GONE;
        return lose(link, failure);
    }
    return failure;
}

/* sent is the result of the libpq call that queued the statement. */
static res_t finish(const void *ctx, ik_pq_link_t *link, int sent, ik_pq_rows_t **out)
{
    ik_pq_rows_t *rows = NULL;
    if (!sent) {
        return lose_connection(link);
    }
    res_t done = receive(ctx, link, &rows);
    if (is_ok(&done)) {
        done = check_result(link, rows);
    }
    if (is_ok(&done) && out != NULL) {
        *out = rows;
        return OK;
    }
    talloc_free(rows);
    return done;
}

/* A call that is cancelled before its statement leaves the connection intact. */
static res_t begin(ik_pq_link_t *link)
{
    if (link->conn == NULL) {
        return ERR(GONE, "%s: the connection was lost", link->url->name);
    }
    TRY(ik_pq_link_pause(link, 0));
    start_clock(link, link->command_ms);
    return OK;
}

static const ik_pq_params_t no_params;

res_t ik_pq_link_run(const void *ctx, ik_pq_link_t *link, const char *sql,
                     const ik_pq_params_t *params, ik_pq_rows_t **rows)
{
    TRY(begin(link));
    params = params == NULL ? &no_params : params;
    int sent = link->library->sendQueryParams(link->conn, sql, params->count, NULL, params->values,
                                              params->lengths, params->formats, IK_PQ_FORMAT_TEXT);
    return finish(ctx, link, sent, rows);
}

res_t ik_pq_link_run_large(const void *ctx, ik_pq_link_t *link, const char *sql,
                           const ik_pq_params_t *params, ik_pq_rows_t **rows)
{
    size_t index = 0;
    char name[16];
    TRY(begin(link));
    while (index < link->prepared_count && link->prepared[index] != sql) {
        index++;
    }
    snprintf(name, sizeof(name), "ikigai%u", (unsigned)index);
    if (index == PREPARED_MAX) {
        PANIC("more than %d prepared statements", PREPARED_MAX);
    }
    if (index == link->prepared_count) {
        int sent = link->library->sendPrepare(link->conn, name, sql, 0, NULL);
        TRY(finish(ctx, link, sent, NULL));
        link->prepared[link->prepared_count++] = sql;
    }
    int sent =
        link->library->sendQueryPrepared(link->conn, name, params->count, params->values,
                                         params->lengths, params->formats, IK_PQ_FORMAT_TEXT);
    return finish(ctx, link, sent, rows);
}

res_t ik_pq_link_pause(ik_pq_link_t *link, int ms)
{
    ik_pq_patience_t patience = {.wake_fd = link->patience.wake_fd,
                                 .deadline_ms = ik_clock_now_ms() + ms};
    return ik_pq_wait(-1, 0, &patience) == IK_PQ_WAIT_WOKEN
               ? ERR(GONE, "%s: cancelled", link->url->name)
               : OK;
}

/* --- transactions ------------------------------------------------------------------------ */

res_t ik_pq_link_transact(ik_pq_link_t *link, ik_pq_link_body_fn body, void *data)
{
    TRY(ik_pq_link_run(link, link, "BEGIN", NULL, NULL));
    res_t done = body(data);
    if (is_ok(&done)) {
        done = ik_pq_link_run(link, link, "COMMIT", NULL, NULL);
    }
    if (is_err(&done) && link->conn != NULL) {
        res_t undone = ik_pq_link_run(link, link, "ROLLBACK", NULL, NULL);
        if (is_err(&undone)) {
            ik_pq_link_close(link); /* the server rolls back then */
        }
    }
    return done;
}

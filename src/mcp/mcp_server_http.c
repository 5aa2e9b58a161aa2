/* A server that is reached over HTTP: its address and headers, its token, and its session. */
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "mcp/mcp_headers.h"
#include "mcp/mcp_oauth.h"
#include "mcp/mcp_server_state.h"

/* --- messages ---------------------------------------------------------------------------- */

void ik_mcp_server_write_http(ik_mcp_server_t *server, const char *line, size_t len)
{
    bool modern = server->facts.modern || server->probing;
    void *scratch = talloc_new(NULL);
    ik_mcp_http_send(server->http, line, len,
                     modern ? ik_mcp_headers_create(scratch, server->facts.tools, line, len)
                            : NULL);
    talloc_free(scratch);
}

static void keep_unsent(ik_mcp_server_t *server, int64_t id, const char *line)
{
    server->unsent =
        ik_resize_array(server, server->unsent, ik_mcp_unsent_t, server->unsent_count + 1);
    server->unsent[server->unsent_count++] =
        (ik_mcp_unsent_t){.id = id, .line = ik_strdup(server->unsent, line)};
}

void ik_mcp_server_drop_unsent(ik_mcp_server_t *server, int64_t id)
{
    size_t kept = 0;
    for (size_t i = 0; i < server->unsent_count; i++) {
        if (server->unsent[i].id != id) {
            server->unsent[kept++] = server->unsent[i];
        }
    }
    server->unsent_count = kept;
}

void ik_mcp_server_send_unsent(ik_mcp_server_t *server)
{
    for (size_t i = 0; i < server->unsent_count; i++) {
        const char *line = server->unsent[i].line;
        ik_mcp_server_write_http(server, line, strlen(line));
    }
    TALLOC_FREE(server->unsent);
    server->unsent_count = 0;
}

static void on_http_message(void *data, const char *text, size_t len)
{
    ik_mcp_server_t *server = data;
    if (server->rpc != NULL) {
        ik_rpc_take(server->rpc, text, len);
    }
}

static void on_http_initialized(void *data)
{
    ik_mcp_server_t *server = data;
    ik_mcp_http_listen(server->http);
    ik_mcp_server_begin_list(server);
}

/* --- headers ----------------------------------------------------------------------------- */

/* Whether the user configured credentials as a header. */
static bool has_authorization(const ik_config_server_t *config)
{
    for (size_t i = 0; config->headers != NULL && config->headers[i] != NULL; i += 2) {
        if (strcasecmp(config->headers[i], "Authorization") == 0) {
            return true;
        }
    }
    return false;
}

/* The headers of every message, on ctx; NULL: *fault says what is wrong with them. *stale: the
 * token among them has expired, and could be renewed. */
static const char **make_headers(const void *ctx, const ik_mcp_server_t *server, const char *url,
                                 char **fault, bool *stale)
{
    const ik_config_server_t *config = server->config;
    size_t pairs = 0;
    while (config->headers != NULL && config->headers[2 * pairs] != NULL) {
        pairs++;
    }
    const char **headers = ik_new_array(ctx, const char *, pairs + 2);
    size_t count = 0;
    for (size_t i = 0; i < pairs; i++) {
        const char *name = config->headers[2 * i];
        const char *value = ik_mcp_server_expand(ctx, server, config->headers[2 * i + 1], fault);
        if (value == NULL) {
            return NULL;
        }
        if (strpbrk(value, "\r\n") != NULL) {
            *fault = ik_sprintf(ctx, "the value of the header %s has a line break", name);
            return NULL;
        }
        headers[count++] = ik_sprintf(ctx, "%s: %s", name, value);
    }
    *stale = false;
    headers[count] = has_authorization(config)
                         ? NULL
                         : ik_mcp_oauth_header(ctx, server->options->paths, url, stale);
    return headers;
}

/* --- beginning again --------------------------------------------------------------------- */

/* The user has to log in. Until then the server refuses every further request. */
static void fail_login(ik_mcp_server_t *server)
{
    static const char why[] = "it wants a login";
    ik_mcp_server_set_status(server, IK_MCP_LOGIN, why);
    ik_mcp_server_drop(server, why);
    ik_mcp_server_abandon_list(server);
    ik_mcp_server_save(server);
    ik_mcp_server_wake(server, why);
}

/* In a new session. line: a request to send again; NULL: the list of tools, which is read anyway.
 */
static void begin_again(ik_mcp_server_t *server, int64_t id, const char *line)
{
    server->renewed = true;
    if (line != NULL) {
        keep_unsent(server, id, line);
    }
    if (server->state == IK_MCP_SERVER_UP) {
        server->state = IK_MCP_SERVER_OPENING;
        server->started_ms = ik_clock_now_ms();
        server->tried_modern = true;
        ik_timer_start(server->timer, 1000 * (int64_t)server->config->start_timeout_seconds);
        ik_mcp_http_forget_session(server->http);
        ik_mcp_server_initialize(server);
    }
}

static void leave_http(ik_mcp_server_t *server)
{
    ik_mcp_server_unsubscribe(server);
    if (server->http != NULL) {
        ik_mcp_http_retire(server->http);
        server->http = NULL;
    }
}

/* The connection goes on with the new token: other calls may wait for their answers. */
static void use_token(ik_mcp_server_t *server)
{
    void *scratch = talloc_new(NULL);
    char *fault = NULL;
    bool stale;
    const char **headers = make_headers(scratch, server, server->url, &fault, &stale);
    if (headers == NULL) {
        ik_mcp_server_fail_start(server, fault);
    } else {
        ik_mcp_http_set_headers(server->http, headers);
        ik_mcp_server_send_unsent(server);
    }
    talloc_free(scratch);
}

static void on_token(void *data, bool renewed)
{
    ik_mcp_server_t *server = data;
    TALLOC_FREE(server->renewal);
    if (!renewed) {
        fail_login(server);
    } else if (server->state == IK_MCP_SERVER_UP) {
        use_token(server);
    } else {
        leave_http(server);
        ik_mcp_server_open_http(server);
    }
}

/* Renews the token, once; what is being opened begins again with the new one. False: there is
 * nothing to renew. */
static bool renew_token(ik_mcp_server_t *server)
{
    if (server->token_renewed || server->renewal != NULL) {
        return server->renewal != NULL;
    }
    server->token_renewed = true;
    server->renewal = ik_mcp_oauth_renew(server, ik_process_host_loop(server->options->host),
                                         server->options->http, server->options->paths, server->url,
                                         on_token, server);
    if (server->renewal != NULL && server->state != IK_MCP_SERVER_UP) {
        server->state = IK_MCP_SERVER_OPENING;
        server->started_ms = ik_clock_now_ms();
        ik_timer_start(server->timer, 1000 * (int64_t)server->config->start_timeout_seconds);
        leave_http(server);
    }
    return server->renewal != NULL;
}

static void on_http_failure(void *data, int64_t id, ik_mcp_http_failure_t failure, const char *why,
                            const char *line, const char *challenge)
{
    ik_mcp_server_t *server = data;
    ik_mcp_exchange_t *exchange = server->exchanges;
    if (server->subscription != NULL && ik_rpc_call_id(server->subscription) == id) {
        ik_mcp_server_lose_subscription(server);
        return;
    }
    while (exchange != NULL && (id == 0 || exchange->token != id)) {
        exchange = exchange->next;
    }
    bool login = failure == IK_MCP_HTTP_LOGIN;
    bool narrow = login && ik_mcp_oauth_is_narrow(challenge);
    bool of_page = server->page != NULL && ik_rpc_call_id(server->page) == id;
    if (login && !narrow && renew_token(server)) {
        if (exchange != NULL || (of_page && server->state == IK_MCP_SERVER_UP)) {
            keep_unsent(server, id, line);
        }
        return;
    }
    char *scope =
        login ? ik_mcp_oauth_want(server, server->options->paths, server->url, challenge) : NULL;
    bool of_session = failure == IK_MCP_HTTP_SESSION &&
                      (exchange != NULL || (of_page && server->state == IK_MCP_SERVER_UP));
    if (of_session && (!server->renewed || server->unsent_count > 0)) {
        begin_again(server, id, exchange == NULL ? NULL : line);
        return;
    }
    bool of_call = exchange != NULL;
    if (of_call) {
        ik_mcp_exchange_fns_t fns = exchange->fns;
        talloc_free(exchange);
        if (failure == IK_MCP_HTTP_FLOOD) {
            fns.on_flood(fns.data);
        } else {
            fns.on_lost(fns.data, login, narrow ? scope : NULL, why);
        }
    } else if (id == 0 || (!login && !of_page && server->state == IK_MCP_SERVER_UP)) {
        talloc_free(scope);
        return; /* a notification, the server's own stream, or what was answered elsewhere */
    } else if (!login && server->state == IK_MCP_SERVER_UP) {
        ik_mcp_server_fail_list(server, why);
    } else if (!login) {
        char *text = ik_sprintf(NULL, "it cannot be reached: %s", why);
        ik_mcp_server_fail_start(server, text);
        talloc_free(text);
    }
    talloc_free(scope);
    if (!login || server->http == NULL) {
        return;
    }
    if (!narrow || !of_call) {
        fail_login(server);
    } else if (server->exchanges == NULL && !server->relisting) {
        ik_mcp_server_drop(server, why); /* the next call takes the token of another login */
    }
}

/* --- opening ----------------------------------------------------------------------------- */

void ik_mcp_server_open_http(ik_mcp_server_t *server)
{
    const ik_config_server_t *config = server->config;
    void *scratch = talloc_new(NULL);
    char *fault = NULL;
    bool stale = false;
    const char *url = ik_mcp_server_expand(scratch, server, config->url, &fault);
    const char **headers = url == NULL ? NULL : make_headers(scratch, server, url, &fault, &stale);
    if (fault == NULL && strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) {
        fault = "its url must begin with http:// or https://";
    }
    if (fault != NULL) {
        ik_mcp_server_fail_start(server, fault);
        talloc_free(scratch);
        return;
    }
    server->state = IK_MCP_SERVER_OPENING;
    talloc_free(server->url);
    server->url = ik_strdup(server, url);
    if (stale && renew_token(server)) {
        talloc_free(scratch);
        return;
    }
    server->http = ik_mcp_http_create(
        server, &(ik_mcp_http_options_t){
                    .http = server->options->http,
                    .loop = ik_process_host_loop(server->options->host),
                    .url = url,
                    .headers = headers,
                    .connect_ms = 1000 * (int64_t)server->options->config->connect_timeout_seconds,
                    .on_message = on_http_message,
                    .on_initialized = on_http_initialized,
                    .on_failure = on_http_failure,
                    .data = server});
    talloc_free(scratch);
    if (server->rpc == NULL) { /* else calls wait for their answers after a renewal */
        ik_mcp_server_create_rpc(server);
    }
    ik_mcp_server_begin_session(server);
}

/* The messages of an open connection: requests of calls, and what the server sends beside the
 * answers. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/url_encode.h"
#include "base/utf8.h"
#include "mcp/mcp_elicitation.h"
#include "mcp/mcp_server_state.h"

enum { LINE_MAX_BYTES = 32 * 1024 * 1024 };

struct ik_mcp_asked { /* a question of the server to the user */
    ik_mcp_server_t *server;
    ik_mcp_asked_t *next;
    ik_rpc_request_t *request;
    void *form;
};

/* --- exchanges --------------------------------------------------------------------------- */

static int unlink_exchange(ik_mcp_exchange_t *exchange)
{
    ik_mcp_exchange_t **link = &exchange->server->exchanges;
    while (*link != exchange) {
        link = &(*link)->next;
    }
    *link = exchange->next;
    if (exchange->call != NULL) {
        talloc_free(exchange->call);
    }
    return 0;
}

static void on_exchange_answer(void *data, const ik_rpc_answer_t *answer)
{
    ik_mcp_exchange_t *exchange = data;
    exchange->call = NULL; /* it frees itself */
    ik_mcp_exchange_fns_t fns = exchange->fns;
    talloc_free(exchange);
    fns.on_answer(fns.data, answer);
}

ik_mcp_exchange_t *ik_mcp_server_send(const void *ctx, ik_mcp_server_t *server, const char *method,
                                      const char *members, const ik_mcp_exchange_fns_t *fns)
{
    if (server->state != IK_MCP_SERVER_UP) {
        return NULL;
    }
    ik_mcp_exchange_t *exchange = ik_new(ctx, ik_mcp_exchange_t);
    *exchange = (ik_mcp_exchange_t){.server = server,
                                    .next = server->exchanges,
                                    .token = ik_rpc_next_id(server->rpc),
                                    .fns = *fns};
    server->exchanges = exchange;
    talloc_set_destructor(exchange, unlink_exchange);
    char *params = ik_mcp_server_make_params(exchange, server, members, exchange->token);
    exchange->call = ik_rpc_call(server->rpc, method, params, on_exchange_answer, exchange);
    talloc_free(params);
    return exchange;
}

const char *ik_mcp_exchange_junk(const ik_mcp_exchange_t *exchange)
{
    return exchange->junk;
}

/* The server asked for calls that are given up: takes its questions back from the user. */
static void cancel_questions(ik_mcp_server_t *server)
{
    static const char cancelled[] = "{\"action\":\"cancel\"}";
    while (server->asked != NULL) {
        ik_rpc_respond(server->asked->request, cancelled, strlen(cancelled));
        talloc_free(server->asked);
    }
}

void ik_mcp_server_give_up(ik_mcp_server_t *server, ik_mcp_exchange_t *exchange, const char *reason)
{
    bool told = server->http != NULL && server->facts.modern; /* by the end of its stream */
    if (!told && server->rpc != NULL) {
        char *params = ik_sprintf(exchange, "{\"requestId\":%" PRId64 ",\"reason\":\"%s\"}",
                                  exchange->token, reason);
        ik_rpc_notify(server->rpc, "notifications/cancelled", params);
    }
    if (server->http != NULL) { /* the stream may end without an answer, or never */
        ik_mcp_http_give_up(server->http, exchange->token);
    }
    ik_mcp_server_drop_unsent(server, exchange->token);
    talloc_free(exchange);
    if (server->exchanges == NULL) { /* a question does not tell for which call it is */
        cancel_questions(server);
    }
}

void ik_mcp_server_forgive(ik_mcp_server_t *server)
{
    server->deaths = 0;
    server->renewed = false;
    server->token_renewed = false;
}

/* --- requests of the server -------------------------------------------------------------- */

char *ik_mcp_server_roots(const void *ctx, const ik_mcp_server_t *server)
{
    ik_buffer_t uri;
    ik_buffer_t out;
    const char *folder = server->options->paths->cwd;
    const char *name = strrchr(folder, '/');
    ik_buffer_init(&uri, ctx, IK_BUFFER_UNLIMITED); /* bounded by the path */
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the path */
    ik_buffer_append_text(&uri, "file://");
    ik_url_encode(&uri, folder, "/");
    ik_buffer_append_text(&out, "{\"roots\":[{\"uri\":");
    ik_json_append_text(&out, uri.data);
    ik_buffer_append_text(&out, ",\"name\":");
    ik_json_append_text(&out, name == NULL || name[1] == '\0' ? folder : name + 1);
    ik_buffer_append_text(&out, "}]}");
    ik_buffer_reset(&uri);
    return ik_buffer_finish(&out);
}

static int unlink_asked(ik_mcp_asked_t *asked)
{
    ik_mcp_asked_t **link = &asked->server->asked;
    while (*link != asked) {
        link = &(*link)->next;
    }
    *link = asked->next;
    return 0;
}

/* The user's time is not that of the calls. */
static void spare_calls(const ik_mcp_server_t *server)
{
    for (ik_mcp_exchange_t *each = server->exchanges; each != NULL; each = each->next) {
        each->fns.on_progress(each->fns.data, "", 0);
    }
}

static void on_elicited(void *data, const char *result)
{
    ik_mcp_asked_t *asked = data;
    const ik_mcp_server_t *server = asked->server;
    ik_rpc_respond(asked->request, result, strlen(result));
    talloc_free(asked);
    spare_calls(server);
}

static void answer_elicitation(ik_mcp_server_t *server, ik_rpc_request_t *request)
{
    const char *fault = ik_mcp_elicitation_fault(request->params);
    if (fault != NULL) {
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS, fault, NULL);
        return;
    }
    ik_mcp_asked_t *asked = ik_new(server, ik_mcp_asked_t);
    *asked = (ik_mcp_asked_t){.server = server, .next = server->asked, .request = request};
    server->asked = asked;
    request->data = asked;
    talloc_set_destructor(asked, unlink_asked);
    ik_mcp_elicit(asked, server->options, server->config->name, request->params, on_elicited,
                  asked);
}

bool ik_mcp_server_is_asking(const ik_mcp_server_t *server)
{
    return server->asked != NULL;
}

void ik_mcp_server_free_questions(ik_mcp_server_t *server)
{
    while (server->asked != NULL) {
        talloc_free(server->asked);
    }
}

static bool on_request(void *data, ik_rpc_request_t *request)
{
    ik_mcp_server_t *server = data;
    if (strcmp(request->method, "ping") == 0) {
        ik_rpc_respond(request, "{}", 2);
    } else if (strcmp(request->method, "roots/list") == 0) {
        char *roots = ik_mcp_server_roots(request, server);
        ik_rpc_respond(request, roots, strlen(roots));
    } else if (strcmp(request->method, "elicitation/create") == 0) {
        answer_elicitation(server, request);
    } else {
        return false;
    }
    return true;
}

/* --- notifications of the server --------------------------------------------------------- */

static void take_log(ik_mcp_server_t *server, ik_json_span_t params)
{
    ik_json_span_t level;
    ik_json_span_t data;
    ik_json_span_t logger;
    if (!ik_json_is(params, IK_JSON_OBJECT) || !ik_json_find(params, "data", &data)) {
        return;
    }
    ik_buffer_t text;
    ik_buffer_init(&text, server, IK_MCP_TEXT_MAX);
    ik_buffer_append_text(&text, "");
    if (ik_json_find_kind(params, "logger", IK_JSON_STRING, &logger)) {
        ik_json_append_decoded(&text, logger);
        ik_buffer_append_text(&text, ": ");
    }
    if (ik_json_kind(data) == IK_JSON_STRING) {
        ik_json_append_decoded(&text, data);
    } else {
        ik_buffer_append(&text, data.text, data.len);
    }
    char *name = ik_json_find_kind(params, "level", IK_JSON_STRING, &level) && level.len < 40
                     ? ik_json_decode(server, level, NULL)
                     : ik_strdup(server, "info");
    ik_mcp_log_add(server->log, name, text.data, text.len);
    talloc_free(name);
    ik_buffer_reset(&text);
}

static void take_progress(ik_mcp_server_t *server, ik_json_span_t params)
{
    ik_json_span_t token;
    ik_json_span_t message;
    if (!ik_json_find_kind(params, "progressToken", IK_JSON_NUMBER, &token)) {
        return;
    }
    int64_t number = strtoll(token.text, NULL, 10);
    ik_mcp_exchange_t *exchange = server->exchanges;
    while (exchange != NULL && exchange->token != number) {
        exchange = exchange->next;
    }
    if (exchange == NULL) {
        return; /* late */
    }
    ik_buffer_t text;
    ik_buffer_init(&text, NULL, IK_MCP_TEXT_MAX);
    ik_buffer_append_text(&text, "");
    if (ik_json_find_kind(params, "message", IK_JSON_STRING, &message)) {
        ik_json_append_decoded(&text, message);
    } else if (ik_json_find_kind(params, "progress", IK_JSON_NUMBER, &message)) {
        ik_json_span_t total;
        ik_buffer_append(&text, message.text, message.len);
        if (ik_json_find_kind(params, "total", IK_JSON_NUMBER, &total)) {
            ik_buffer_append_format(&text, " of %.*s", (int)total.len, total.text);
        }
    }
    exchange->fns.on_progress(exchange->fns.data, text.data, text.len);
    ik_buffer_reset(&text);
}

static void on_notification(void *data, const char *method, ik_json_span_t params)
{
    ik_mcp_server_t *server = data;
    ik_json_span_t id;
    if (strcmp(method, "notifications/progress") == 0) {
        take_progress(server, params);
    } else if (strcmp(method, "notifications/message") == 0) {
        take_log(server, params);
    } else if (strcmp(method, "notifications/tools/list_changed") == 0) {
        ik_mcp_server_note_change(server);
    } else if (strcmp(method, "notifications/cancelled") == 0 &&
               ik_json_is(params, IK_JSON_OBJECT) && ik_json_find(params, "requestId", &id)) {
        ik_rpc_request_t *request = ik_rpc_find_request(server->rpc, id);
        if (request != NULL) {
            talloc_free(request->data); /* the question */
            talloc_free(request);
            spare_calls(server);
        }
    }
}

static char *clean_beginning(const void *ctx, const char *line, size_t len)
{
    enum { SHOWN_MAX = 200 };
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED); /* bounded by SHOWN_MAX */
    ik_buffer_append_text(&text, "");
    ik_utf8_append_clean(&text, line, ik_utf8_cut(line, len, SHOWN_MAX));
    return ik_buffer_finish(&text);
}

static void on_junk(void *data, const char *line, size_t len)
{
    ik_mcp_server_t *server = data;
    if (line != NULL) {
        ik_mcp_log_add(server->log, "stdout", line, len);
        for (ik_mcp_exchange_t *each = server->exchanges; each != NULL; each = each->next) {
            talloc_free(each->junk);
            each->junk = clean_beginning(each, line, len);
        }
        return;
    }
    static const char long_line[] = "a message of more than 32 MB was dropped";
    ik_mcp_log_add(server->log, "error", long_line, strlen(long_line));
    /* It may have been the answer to any of them. */
    while (server->exchanges != NULL) {
        ik_mcp_exchange_t *exchange = server->exchanges;
        ik_mcp_exchange_fns_t fns = exchange->fns;
        talloc_free(exchange);
        fns.on_flood(fns.data);
    }
}

/* --- the connection ---------------------------------------------------------------------- */

static void on_write(void *data, const char *line, size_t len)
{
    ik_mcp_server_t *server = data;
    if (server->http != NULL) {
        ik_mcp_server_write_http(server, line, len - 1);
    } else if (server->body != NULL && !ik_process_write(server->body->process, line, len)) {
        ik_process_cancel(server->body->process); /* it does not read; its end is reported */
    }
}

void ik_mcp_server_create_rpc(ik_mcp_server_t *server)
{
    server->rpc = ik_rpc_create(server, &(ik_rpc_options_t){.max_line = LINE_MAX_BYTES,
                                                            .write = on_write,
                                                            .on_request = on_request,
                                                            .on_notification = on_notification,
                                                            .on_junk = on_junk,
                                                            .data = server});
}

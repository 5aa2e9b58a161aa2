#include "serve/mcp_serve.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/print.h"
#include "base/random.h"
#include "io/duplex.h"
#include "rpc/rpc.h"
#include "serve/mcp_serve_format.h"
#include "tool/tool_wrapper.h"

enum {
    LINE_MAX_BYTES = 64 * 1024 * 1024,
    UNSENT_MAX = 256 * 1024 * 1024,
    FLUSH_MS = 1000,
    GRANTS_MAX = 64, /* questions of the modern era that were not answered yet */
    STATE_LEN = 32,
    PROGRESS_MS = 100, /* between two messages about one call */
    PROGRESS_MAX = 1024,
    UNSUPPORTED_VERSION = -32022,
};

#define MODERN_VERSION "2026-07-28"

/* The last one is offered to a client whose version is unknown. */
static const char *const legacy_versions[] = {"2024-11-05", "2025-03-26", "2025-06-18",
                                              "2025-11-25"};

typedef struct call call_t;

/* A question of the modern era, which has no state: the client sends the call again with the
 * answer. The state that it returns leads to this, so that an answer grants one call of this tool
 * with these arguments and nothing else. */
typedef struct {
    char state[STATE_LEN + 1]; /* empty: unused */
    const char *tool;
    json_t *arguments;
    int granted; /* answers that were given before, and this one */
    int64_t number;
} grant_t;

typedef struct {
    const ik_mcp_serve_options_t *options;
    ik_duplex_t *duplex;
    ik_rpc_t *rpc;
    const ik_call_gate_t *asking;     /* for clients that can ask their user */
    const ik_call_gate_t *unattended; /* for others */
    bool initialized;
    bool client_asks; /* what the client of the legacy era can do */
    call_t *calls;
    int64_t last_number;
    grant_t grants[GRANTS_MAX];
    bool done;
} server_t;

struct call {
    server_t *server;
    call_t *next;
    call_t **link;
    ik_rpc_request_t *request; /* NULL: answered or cancelled */
    char *id;                  /* of this call, for gate and tool */
    char *name;
    char *arguments;
    bool modern;
    int granted;             /* questions that the client's user has answered with yes already */
    char *token;             /* JSON text of the progress token; NULL: no progress is wanted */
    int64_t steps;           /* of progress */
    int64_t due_ms;          /* no progress is sent before */
    ik_tool_call_t *running; /* NULL: the gate decides */
};

/* --- the life of a call ------------------------------------------------------------------ */

/* Stops the tool, if it still runs. */
static int unlink_call(call_t *call)
{
    talloc_free(call->running);
    *call->link = call->next;
    if (call->next != NULL) {
        call->next->link = call->link;
    }
    return 0;
}

/* Answers the request, unless the client has cancelled it, and frees the call. */
static void end_call(call_t *call, const char *result)
{
    if (call->request != NULL) {
        ik_rpc_respond(call->request, result, strlen(result));
        call->request = NULL;
    }
    talloc_free(call);
}

static void end_with(call_t *call, const ik_tool_result_t *result)
{
    char *text = ik_mcp_serve_format_call(NULL, result, call->server->options->context->images,
                                          call->modern);
    end_call(call, text);
    talloc_free(text);
}

static void on_tool_end(void *data, const ik_tool_result_t *result)
{
    call_t *call = data;
    call->running = NULL; /* frees itself when this returns */
    end_with(call, result);
}

static void on_progress(void *data, const char *text, size_t len)
{
    call_t *call = data;
    int64_t now = ik_clock_now_ms();
    if (call->request == NULL || call->token == NULL || now < call->due_ms) {
        return;
    }
    while (len > 0 && text[len - 1] == '\n') {
        len--;
    }
    size_t begin = len > PROGRESS_MAX ? len - PROGRESS_MAX : 0;
    ik_buffer_t params;
    ik_buffer_init(&params, call, IK_BUFFER_UNLIMITED); /* PROGRESS_MAX */
    ik_buffer_append_format(&params,
                            "{\"progressToken\":%s,\"progress\":%lld,\"message\":", call->token,
                            (long long)++call->steps);
    ik_json_append_string(&params, text + begin, len - begin);
    ik_buffer_append_byte(&params, '}');
    ik_rpc_notify(call->server->rpc, "notifications/progress", params.data);
    ik_buffer_reset(&params);
    call->due_ms = now + PROGRESS_MS;
}

static void on_verdict(void *data, const ik_call_verdict_t *verdict)
{
    call_t *call = data;
    const ik_mcp_serve_options_t *options = call->server->options;
    if (verdict->denied != NULL) {
        const char *code = verdict->code == NULL ? IK_TOOL_PERMISSION_DENIED : verdict->code;
        ik_tool_result_t refused = {.envelope = ik_tool_wrap_refusal(call, code, verdict->denied)};
        end_with(call, &refused);
        return;
    }
    ik_tool_request_t request = {
        .name = call->name,
        .arguments = call->arguments,
        .arguments_len = strlen(call->arguments),
        .call_id = call->id,
        .session_id = "mcp",
        .room = verdict->room,
        .confined = verdict->confined == NULL ? NULL : ik_strdup(call, verdict->confined),
        .open_places = verdict->open_places,
        .on_progress = on_progress,
        .on_end = on_tool_end,
        .data = call,
    };
    call->running = ik_tool_call_start(call->server, options->context, options->registry, &request);
}

static void decide(call_t *call, bool can_ask)
{
    server_t *server = call->server;
    const ik_call_gate_t *gate = can_ask ? server->asking : server->unattended;
    ik_call_t asked = {.id = call->id,
                       .name = call->name,
                       .arguments = call->arguments,
                       .arguments_len = strlen(call->arguments),
                       .entry = ik_tool_registry_lookup(server->options->registry, call->name)};
    gate->decide(gate->gate, call, &asked, on_verdict, call);
}

/* --- questions --------------------------------------------------------------------------- */

/* A question about a call while it is open. Freeing it withdraws the question. */
typedef struct {
    call_t *call;
    ik_rpc_call_t *elicitation; /* of the legacy era; NULL: none is open */
    ik_timer_t *soon;
    char *params; /* of the question in the modern era; NULL: the answer is yes */
    ik_permission_answer_fn on_answer;
    void *data;
} question_t;

static void on_elicited(void *data, const ik_rpc_answer_t *answer)
{
    question_t *question = data;
    ik_json_span_t action;
    bool accepted =
        !answer->closed && !answer->failed && ik_json_is(answer->result, IK_JSON_OBJECT) &&
        ik_json_find(answer->result, "action", &action) && ik_json_is_text(action, "accept");
    question->elicitation = NULL;
    question->on_answer(question->data, accepted ? IK_PERMISSION_YES : IK_PERMISSION_NO, NULL);
}

static int withdraw(question_t *question)
{
    if (question->elicitation != NULL) {
        char params[64];
        snprintf(params, sizeof(params), "{\"requestId\":%lld}",
                 (long long)ik_rpc_call_id(question->elicitation));
        talloc_free(question->elicitation);
        ik_rpc_notify(question->call->server->rpc, "notifications/cancelled", params);
    }
    return 0;
}

/* The oldest grant makes room for a new one. */
static grant_t *new_grant(server_t *server)
{
    grant_t *oldest = &server->grants[0];
    for (size_t i = 0; i < GRANTS_MAX; i++) {
        if (server->grants[i].number < oldest->number) {
            oldest = &server->grants[i];
        }
    }
    json_decref(oldest->arguments);
    *oldest = (grant_t){.number = ++server->last_number};
    ik_random_name(oldest->state, STATE_LEN);
    return oldest;
}

static void on_soon(void *data)
{
    question_t *question = data;
    call_t *call = question->call;
    if (question->params == NULL) {
        question->on_answer(question->data, IK_PERMISSION_YES, NULL);
        return;
    }
    grant_t *grant = new_grant(call->server);
    const ik_tool_registry_t *registry = call->server->options->registry;
    grant->tool = ik_tool_registry_lookup(registry, call->name)->name;
    grant->arguments = ik_json_parse(call->arguments, strlen(call->arguments), NULL);
    grant->granted = call->granted + 1;
    char *result = ik_mcp_serve_format_input_required(NULL, question->params, grant->state);
    end_call(call, result); /* and the decision with it */
    talloc_free(result);
}

static call_t *find_call(const server_t *server, const char *id)
{
    call_t *call = server->calls;
    while (call != NULL && strcmp(call->id, id) != 0) {
        call = call->next;
    }
    return call;
}

static void *ask(void *data, const void *ctx, const ik_permission_question_t *asked,
                 ik_permission_answer_fn on_answer, void *answer_data)
{
    server_t *server = data;
    question_t *question = ik_new(ctx, question_t);
    question->call = find_call(server, asked->call_id);
    question->on_answer = on_answer;
    question->data = answer_data;
    talloc_set_destructor(question, withdraw);
    question->soon = ik_timer_create(question, server->options->loop, on_soon, question);
    if (question->call->granted > 0) {
        question->call->granted--;
        ik_timer_start(question->soon, 0);
        return question;
    }
    question->params = ik_mcp_serve_format_question(question, asked);
    if (question->call->modern) {
        ik_timer_start(question->soon, 0);
        return question;
    }
    question->elicitation =
        ik_rpc_call(server->rpc, "elicitation/create", question->params, on_elicited, question);
    return question;
}

static ik_mode_t mode_of(void *data, int64_t agent)
{
    (void)agent;
    return ((server_t *)data)->options->mode;
}

static void warn(void *data, const char *text)
{
    (void)data;
    ik_print_line(stderr, text);
}

/* --- requests ---------------------------------------------------------------------------- */

/* Whether the client can show its user a form. */
static bool can_ask(ik_json_span_t capabilities)
{
    ik_json_span_t elicitation;
    ik_json_span_t form;
    ik_json_span_t url;
    if (!ik_json_find_kind(capabilities, "elicitation", IK_JSON_OBJECT, &elicitation)) {
        return false;
    }
    return ik_json_find(elicitation, "form", &form) || !ik_json_find(elicitation, "url", &url);
}

static void respond(ik_rpc_request_t *request, const char *beginning, bool modern)
{
    char *result = ik_mcp_serve_format_result(NULL, beginning, modern);
    ik_rpc_respond(request, result, strlen(result));
    talloc_free(result);
}

static void take_initialize(server_t *server, ik_rpc_request_t *request)
{
    ik_json_span_t version;
    ik_json_span_t capabilities;
    const char *agreed = legacy_versions[IK_LENGTH(legacy_versions) - 1];
    if (!ik_json_find_kind(request->params, "protocolVersion", IK_JSON_STRING, &version)) {
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS, "protocolVersion is missing", NULL);
        return;
    }
    if (server->initialized) {
        ik_rpc_refuse(request, IK_RPC_INVALID_REQUEST, "initialize was sent before", NULL);
        return;
    }
    for (size_t i = 0; i < IK_LENGTH(legacy_versions); i++) {
        agreed = ik_json_is_text(version, legacy_versions[i]) ? legacy_versions[i] : agreed;
    }
    server->initialized = true;
    server->client_asks =
        ik_json_find(request->params, "capabilities", &capabilities) && can_ask(capabilities);
    char *result = ik_sprintf(request,
                              "{\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{}},"
                              "\"serverInfo\":{\"name\":\"ikigai\",\"version\":\"%s\"}",
                              agreed, IKIGAI_VERSION);
    respond(request, result, false);
}

/* The answer to a question about a call that the client sends again; false if it was no. An answer
 * that does not belong to this call counts as none: the question is asked again. */
static bool take_answer(server_t *server, call_t *call, ik_json_span_t params)
{
    ik_json_span_t state;
    ik_json_span_t responses;
    ik_json_span_t answer;
    ik_json_span_t action;
    if (!ik_json_find_kind(params, "requestState", IK_JSON_STRING, &state)) {
        return true;
    }
    grant_t *grant = NULL;
    for (size_t i = 0; i < GRANTS_MAX && grant == NULL; i++) {
        grant_t *candidate = &server->grants[i];
        bool same = candidate->state[0] != '\0' && ik_json_is_text(state, candidate->state);
        grant = same ? candidate : NULL;
    }
    json_t *arguments = ik_json_parse(call->arguments, strlen(call->arguments), NULL);
    bool fits = grant != NULL && strcmp(grant->tool, call->name) == 0 &&
                json_equal(grant->arguments, arguments) == 1;
    json_decref(arguments);
    if (!fits) {
        return true;
    }
    int granted = grant->granted;
    json_decref(grant->arguments);
    *grant = (grant_t){0};
    if (!ik_json_find_kind(params, "inputResponses", IK_JSON_OBJECT, &responses) ||
        !ik_json_find_kind(responses, IK_MCP_SERVE_PERMISSION, IK_JSON_OBJECT, &answer) ||
        !ik_json_find(answer, "action", &action) || !ik_json_is_text(action, "accept")) {
        return false;
    }
    call->granted = granted;
    return true;
}

static call_t *create_call(server_t *server, ik_rpc_request_t *request, ik_json_span_t name,
                           ik_json_span_t arguments, bool modern)
{
    ik_json_span_t meta;
    ik_json_span_t token;
    call_t *call = ik_new(server, call_t);
    call->server = server;
    call->request = request;
    call->modern = modern;
    call->id = ik_sprintf(call, "mcp-%lld", (long long)++server->last_number);
    call->name = ik_json_decode(call, name, NULL);
    call->arguments = arguments.len == 0 ? ik_strdup(call, "{}")
                                         : ik_strndup(call, arguments.text, arguments.len);
    if (ik_json_find_kind(request->params, "_meta", IK_JSON_OBJECT, &meta) &&
        ik_json_find(meta, "progressToken", &token) &&
        (ik_json_kind(token) == IK_JSON_STRING || ik_json_kind(token) == IK_JSON_NUMBER)) {
        call->token = ik_strndup(call, token.text, token.len);
    }
    call->next = server->calls;
    call->link = &server->calls;
    if (call->next != NULL) {
        call->next->link = &call->next;
    }
    server->calls = call;
    talloc_set_destructor(call, unlink_call);
    request->data = call;
    return call;
}

static void take_call(server_t *server, ik_rpc_request_t *request, bool modern, bool asks)
{
    ik_json_span_t params = request->params;
    ik_json_span_t name;
    ik_json_span_t arguments = {0};
    if (!ik_json_find_kind(params, "name", IK_JSON_STRING, &name)) {
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS, "name is missing", NULL);
        return;
    }
    if (ik_json_is(params, IK_JSON_OBJECT) && ik_json_find(params, "arguments", &arguments) &&
        ik_json_kind(arguments) == IK_JSON_NULL) {
        arguments.len = 0;
    }
    if (arguments.len > 0 && ik_json_kind(arguments) != IK_JSON_OBJECT) {
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS, "arguments must be an object", NULL);
        return;
    }
    char *called = ik_json_decode(request, name, NULL);
    if (ik_tool_registry_lookup(server->options->registry, called) == NULL) {
        char *message = ik_sprintf(request, "Unknown tool: %s", called);
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS, message, NULL);
        return;
    }
    call_t *call = create_call(server, request, name, arguments, modern);
    if (!take_answer(server, call, params)) {
        ik_tool_result_t refused = {
            .envelope =
                ik_tool_wrap_refusal(call, IK_TOOL_PERMISSION_DENIED, "The user did not allow it")};
        end_with(call, &refused);
        return;
    }
    decide(call, asks);
}

/* Whether the request is of the modern era. False: it was refused. */
static bool find_era(server_t *server, ik_rpc_request_t *request, bool *modern, bool *asks)
{
    ik_json_span_t meta = {0};
    ik_json_span_t version;
    ik_json_span_t capabilities;
    bool found = ik_json_find_kind(request->params, "_meta", IK_JSON_OBJECT, &meta) &&
                 ik_json_find(meta, "io.modelcontextprotocol/protocolVersion", &version);
    *modern = found || strcmp(request->method, "server/discover") == 0;
    *asks = server->client_asks;
    if (!*modern) {
        if (!server->initialized && strcmp(request->method, "ping") != 0) {
            ik_rpc_refuse(request, IK_RPC_INVALID_REQUEST,
                          "Send initialize first, or the protocol version in _meta", NULL);
            return false;
        }
        return true;
    }
    if (!found || ik_json_kind(version) != IK_JSON_STRING ||
        !ik_json_find_kind(meta, "io.modelcontextprotocol/clientCapabilities", IK_JSON_OBJECT,
                           &capabilities)) {
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS,
                      "_meta must have io.modelcontextprotocol/protocolVersion and "
                      "io.modelcontextprotocol/clientCapabilities",
                      NULL);
        return false;
    }
    if (!ik_json_is_text(version, MODERN_VERSION)) {
        char *detail = ik_sprintf(request, "{\"supported\":[\"%s\"],\"requested\":%.*s}",
                                  MODERN_VERSION, (int)version.len, version.text);
        ik_rpc_refuse(request, UNSUPPORTED_VERSION, "Unsupported protocol version", detail);
        return false;
    }
    *asks = can_ask(capabilities);
    return true;
}

static bool on_request(void *data, ik_rpc_request_t *request)
{
    static const char *const methods[] = {"ping", "server/discover", "tools/list", "tools/call"};
    server_t *server = data;
    const char *method = request->method;
    bool known = false;
    bool modern;
    bool asks;
    ik_json_span_t cursor;
    if (strcmp(method, "initialize") == 0) {
        take_initialize(server, request);
        return true;
    }
    for (size_t i = 0; i < IK_LENGTH(methods); i++) {
        known = known || strcmp(method, methods[i]) == 0;
    }
    if (!known || !find_era(server, request, &modern, &asks)) {
        return known;
    }
    if (strcmp(method, "tools/call") == 0) {
        take_call(server, request, modern, asks);
    } else if (strcmp(method, "tools/list") == 0 && ik_json_is(request->params, IK_JSON_OBJECT) &&
               ik_json_find(request->params, "cursor", &cursor) &&
               ik_json_kind(cursor) != IK_JSON_NULL) { /* the list is one page, without a cursor */
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS, "cursor is not one of tools/list", NULL);
    } else if (strcmp(method, "tools/list") == 0) {
        char *list = ik_mcp_serve_format_tools(NULL, server->options->registry, modern);
        ik_rpc_respond(request, list, strlen(list));
        talloc_free(list);
    } else if (strcmp(method, "server/discover") == 0) {
        respond(request,
                "{\"supportedVersions\":[\"" MODERN_VERSION "\"],\"capabilities\":{\"tools\":{}},"
                "\"ttlMs\":0,\"cacheScope\":\"private\"",
                true);
    } else {
        ik_rpc_respond(request, "{}", 2);
    }
    return true;
}

/* A cancelled request gets no answer. Its tool is ended, which takes as long as the tool needs. */
static void on_notification(void *data, const char *method, ik_json_span_t params)
{
    server_t *server = data;
    ik_json_span_t id;
    if (strcmp(method, "notifications/cancelled") != 0 || !ik_json_is(params, IK_JSON_OBJECT) ||
        !ik_json_find(params, "requestId", &id)) {
        return;
    }
    ik_rpc_request_t *request = ik_rpc_find_request(server->rpc, id);
    if (request == NULL) {
        return;
    }
    call_t *call = request->data;
    talloc_free(request);
    call->request = NULL;
    if (call->running != NULL) {
        ik_tool_call_cancel(call->running);
    } else {
        talloc_free(call);
    }
}

/* --- the connection ---------------------------------------------------------------------- */

static void write_line(void *data, const char *line, size_t len)
{
    ik_duplex_write(((server_t *)data)->duplex, line, len);
}

static void on_bytes(void *data, const char *bytes, size_t len)
{
    ik_rpc_feed(((server_t *)data)->rpc, bytes, len);
}

static void on_end(void *data)
{
    ((server_t *)data)->done = true;
}

void ik_mcp_serve_run(const void *ctx, const ik_mcp_serve_options_t *options)
{
    server_t *server = ik_new(ctx, server_t);
    ik_permission_gate_options_t gate = {.confinement = options->confinement,
                                         .rules = options->rules,
                                         .config = options->context->config,
                                         .mode_of = mode_of,
                                         .ask = ask,
                                         .warn = warn,
                                         .data = server};
    server->options = options;
    server->asking = ik_permission_gate_create(server, &gate);
    gate.unattended = true;
    gate.remedy = "use a client that can ask its user, or start ikigai mcp serve with --mode full";
    server->unattended = ik_permission_gate_create(server, &gate);
    ik_duplex_options_t duplex = {.loop = options->loop,
                                  .in = STDIN_FILENO,
                                  .out = STDOUT_FILENO,
                                  .max_unsent = UNSENT_MAX,
                                  .on_bytes = on_bytes,
                                  .on_end = on_end,
                                  .data = server};
    ik_rpc_options_t rpc = {.max_line = LINE_MAX_BYTES,
                            .answers_junk = true,
                            .write = write_line,
                            .on_request = on_request,
                            .on_notification = on_notification,
                            .data = server};
    server->rpc = ik_rpc_create(server, &rpc);
    server->duplex = ik_duplex_create(server, &duplex);
    ik_loop_run_until(options->loop, &server->done);
    while (server->calls != NULL) {
        talloc_free(server->calls);
    }
    ik_duplex_flush(server->duplex, FLUSH_MS);
    for (size_t i = 0; i < GRANTS_MAX; i++) {
        json_decref(server->grants[i].arguments);
    }
    talloc_free(server);
}

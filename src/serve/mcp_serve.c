#include "serve/mcp_serve.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/json.h"
#include "base/print.h"
#include "io/interrupt.h"
#include "rpc/mcp_version.h"
#include "serve/mcp_serve_format.h"
#include "serve/mcp_serve_state.h"

enum {
    LINE_MAX_BYTES = 64 * 1024 * 1024,
    UNSENT_MAX = 256 * 1024 * 1024,
    FLUSH_MS = 1000,
    UNSUPPORTED_VERSION = -32022,
};

/* The last one is offered to a client whose version is unknown. */
static const char *const legacy_versions[] = {"2024-11-05", "2025-03-26", "2025-06-18",
                                              "2025-11-25"};

static ik_mode_t mode_of(void *data, int64_t agent)
{
    const ik_permission_gate_options_t *gate = ((ik_mcp_serve_t *)data)->options->gate;
    return gate->mode_of(gate->data, agent);
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

static void take_initialize(ik_mcp_serve_t *server, ik_rpc_request_t *request)
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

static void take_call(ik_mcp_serve_t *server, ik_rpc_request_t *request, bool modern, bool asks)
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
    /* An answer that does not belong to this call counts as none: the question is asked again. */
    ik_mcp_serve_grant_t *grant = ik_mcp_serve_question_find(server, params, called, arguments);
    if (grant != NULL && grant->call != NULL) {
        ik_mcp_serve_question_resume(grant, request);
        return;
    }
    ik_mcp_serve_call_t *call =
        ik_mcp_serve_call_create(server, request, called, arguments, modern, asks);
    if (grant != NULL && !ik_mcp_serve_question_take(grant, params, &call->granted)) {
        ik_mcp_serve_call_refuse(call, "The user did not allow it");
        return;
    }
    ik_mcp_serve_call_start(call);
}

/* Whether the request is of the modern era. False: it was refused. */
static bool find_era(ik_mcp_serve_t *server, ik_rpc_request_t *request, bool *modern, bool *asks)
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
    if (!ik_json_is_text(version, IK_MCP_MODERN)) {
        char *detail = ik_sprintf(request, "{\"supported\":[\"%s\"],\"requested\":%.*s}",
                                  IK_MCP_MODERN, (int)version.len, version.text);
        ik_rpc_refuse(request, UNSUPPORTED_VERSION, "Unsupported protocol version", detail);
        return false;
    }
    *asks = can_ask(capabilities);
    return true;
}

static bool on_request(void *data, ik_rpc_request_t *request)
{
    static const char *const methods[] = {"ping", "server/discover", "tools/list", "tools/call"};
    ik_mcp_serve_t *server = data;
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
                "{\"supportedVersions\":[\"" IK_MCP_MODERN "\"],\"capabilities\":{\"tools\":{}},"
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
    ik_mcp_serve_t *server = data;
    ik_json_span_t id;
    if (strcmp(method, "notifications/cancelled") != 0 || !ik_json_is(params, IK_JSON_OBJECT) ||
        !ik_json_find(params, "requestId", &id)) {
        return;
    }
    ik_rpc_request_t *request = ik_rpc_find_request(server->rpc, id);
    if (request == NULL) {
        return;
    }
    ik_mcp_serve_call_t *call = request->data;
    talloc_free(request);
    ik_mcp_serve_call_cancel(call);
}

/* --- the connection ---------------------------------------------------------------------- */

static void write_line(void *data, const char *line, size_t len)
{
    ik_duplex_write(((ik_mcp_serve_t *)data)->duplex, line, len);
}

static void on_bytes(void *data, const char *bytes, size_t len)
{
    ik_rpc_feed(((ik_mcp_serve_t *)data)->rpc, bytes, len);
}

static void on_end(void *data)
{
    ((ik_mcp_serve_t *)data)->done = true;
}

static void on_interrupt(void *data, int signal)
{
    ik_mcp_serve_t *server = data;
    server->signal = signal;
    server->done = true;
}

int ik_mcp_serve_run(const void *ctx, const ik_mcp_serve_options_t *options)
{
    ik_mcp_serve_t *server = ik_new(ctx, ik_mcp_serve_t);
    ik_permission_gate_options_t gate = *options->gate;
    gate.mode_of = mode_of;
    gate.ask = ik_mcp_serve_question_permit;
    gate.warn = warn;
    gate.data = server;
    gate.remedy = "use a client that can ask its user";
    gate.full_remedy = "start ikigai mcp serve with --mode full";
    server->options = options;
    server->unattended = ik_permission_gate_create(server, &gate);
    gate.unattended = false;
    server->asking = ik_permission_gate_create(server, &gate);
    server->operations =
        (ik_host_operations_t){.operations = ik_mcp_serve_question_operations, .data = server};
    server->context = *options->context;
    server->context.operations = &server->operations;
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
    ik_interrupt_t *interrupt = ik_interrupt_create(server, options->loop, on_interrupt, server);
    ik_loop_run_until(options->loop, &server->done);
    while (server->calls != NULL) {
        talloc_free(server->calls);
    }
    ik_duplex_flush(server->duplex, FLUSH_MS);
    for (size_t i = 0; i < IK_MCP_SERVE_GRANTS_MAX; i++) {
        ik_mcp_serve_question_forget(&server->grants[i]);
    }
    talloc_free(interrupt);
    int status = server->signal == 0 ? 0 : 128 + server->signal;
    res_t written = ik_duplex_failure(server->duplex);
    if (status == 0 && is_err(&written)) {
        fputs("ikigai: ", stderr);
        warn(NULL, ik_sprintf(server, "cannot write to standard output: %s", written.message));
        status = 1;
    }
    talloc_free(server);
    return status;
}

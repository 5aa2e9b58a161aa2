#include "acp/acp.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "acp/acp_state.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/sanitiser.h"
#include "base/utf8.h"
#include "io/interrupt.h"

enum {
    PROTOCOL_VERSION = 1,
    LINE_MAX_BYTES = 64 * 1024 * 1024, /* a prompt with images */
    UNSENT_MAX = 256 * 1024 * 1024,
    STOP_MS = 5000,
    FLUSH_MS = 1000,
    LOG_MAX = 4000, /* bytes of a line on standard error: it fits into PIPE_BUF */
};

/* Not every editor reads standard error: a line that would have to wait is dropped. What poll
 * reports as writable has room for PIPE_BUF bytes. */
void ik_acp_log(const char *text)
{
    struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&room, 1, 0) == 1) {
        char *line = ik_sanitise_line(NULL, text);
        fprintf(stderr, "ikigai: %.*s\n", (int)ik_utf8_cut(line, strlen(line), LOG_MAX), line);
        talloc_free(line);
    }
}

void ik_acp_cancel_call(const ik_acp_t *acp, ik_rpc_call_t *call)
{
    char *params = ik_sprintf(NULL, "{\"requestId\":%lld}", (long long)ik_rpc_call_id(call));
    talloc_free(call);
    ik_rpc_notify(acp->rpc, "$/cancel_request", params);
    talloc_free(params);
}

/* --- methods ----------------------------------------------------------------------------- */

/* Absent, null and false mean no; objects and true mean yes. */
static bool has(ik_json_span_t object, const char *name, ik_json_span_t *value)
{
    if (!ik_json_is(object, IK_JSON_OBJECT) || !ik_json_find(object, name, value)) {
        return false;
    }
    ik_json_kind_t kind = ik_json_kind(*value);
    return kind == IK_JSON_OBJECT || (kind == IK_JSON_BOOLEAN && value->text[0] == 't');
}

static void initialize(ik_acp_t *acp, ik_rpc_request_t *request)
{
    /* A client that can starts the program again in a terminal, with these arguments behind its
     * own.
     */
    static const char setup[] =
        "{\"type\":\"terminal\",\"id\":\"setup\",\"name\":\"Set up a model\","
        "\"description\":\"Asks for a provider, a key and a model.\","
        "\"args\":[\"--setup\"]}";
    ik_json_span_t version, capabilities, files, questions, login, found;
    if (!ik_json_find_kind(request->params, "protocolVersion", IK_JSON_NUMBER, &version)) {
        ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS, "protocolVersion must be a number", NULL);
        return;
    }
    acp->initialized = true;
    bool known = has(request->params, "clientCapabilities", &capabilities);
    bool fs = known && has(capabilities, "fs", &files);
    acp->client_reads = fs && has(files, "readTextFile", &found);
    acp->client_writes = fs && has(files, "writeTextFile", &found);
    bool asks = known && has(capabilities, "elicitation", &questions);
    acp->client_asks = asks && has(questions, "form", &found);
    acp->client_visits = asks && has(questions, "url", &found);
    bool terminal = known && has(capabilities, "auth", &login) && has(login, "terminal", &found);
    char *answer = ik_sprintf(
        acp,
        "{\"protocolVersion\":%d,\"agentCapabilities\":{\"loadSession\":true,"
        "\"promptCapabilities\":{\"image\":true,\"audio\":false,\"embeddedContext\":true},"
        "\"mcpCapabilities\":{\"http\":true,\"sse\":false},"
        "\"sessionCapabilities\":{\"list\":{},\"resume\":{},\"close\":{},\"delete\":{}}},"
        "\"agentInfo\":{\"name\":\"ikigai\",\"title\":\"ikigai\",\"version\":\"%s\"},"
        "\"authMethods\":[%s]}",
        PROTOCOL_VERSION, acp->options->version, terminal ? setup : "");
    ik_rpc_respond(request, answer, strlen(answer));
    talloc_free(answer);
}

/* Keys are set up outside of the protocol, in a terminal. */
static void authenticate(ik_acp_t *acp, ik_rpc_request_t *request)
{
    (void)acp;
    ik_rpc_refuse(request, IK_RPC_INVALID_PARAMS,
                  "There is no such method of authentication: run ikigai setup in a terminal",
                  NULL);
}

static void load(ik_acp_t *acp, ik_rpc_request_t *request)
{
    ik_acp_session_open(acp, request, true);
}

static void resume(ik_acp_t *acp, ik_rpc_request_t *request)
{
    ik_acp_session_open(acp, request, false);
}

static const struct {
    const char *name;
    void (*run)(ik_acp_t *acp, ik_rpc_request_t *request);
} methods[] = {
    {"initialize", initialize},
    {"authenticate", authenticate},
    {"session/new", ik_acp_session_new},
    {"session/load", load},
    {"session/resume", resume},
    {"session/list", ik_acp_history_list},
    {"session/close", ik_acp_session_close},
    {"session/delete", ik_acp_history_delete},
    {"session/prompt", ik_acp_turn_start},
    {"session/set_mode", ik_acp_options_set_mode},
    {"session/set_config_option", ik_acp_options_set},
};

static bool on_request(void *data, ik_rpc_request_t *request)
{
    ik_acp_t *acp = data;
    for (size_t i = 0; i < IK_LENGTH(methods); i++) {
        if (strcmp(methods[i].name, request->method) != 0) {
            continue;
        }
        if (!acp->initialized && methods[i].run != initialize) {
            ik_rpc_refuse(request, IK_RPC_INVALID_REQUEST, "The first request must be initialize",
                          NULL);
        } else {
            methods[i].run(acp, request);
        }
        return true;
    }
    return false;
}

/* Other requests than a prompt are answered soon anyway. */
static void cancel_request(ik_acp_t *acp, ik_json_span_t params)
{
    ik_json_span_t id;
    ik_rpc_request_t *request =
        ik_json_is(params, IK_JSON_OBJECT) && ik_json_find(params, "requestId", &id)
            ? ik_rpc_find_request(acp->rpc, id)
            : NULL;
    for (size_t i = 0; request != NULL && i < acp->session_count; i++) {
        if (acp->sessions[i]->prompt == request) {
            ik_acp_turn_cancel(acp->sessions[i]);
            return;
        }
    }
}

static void on_notification(void *data, const char *method, ik_json_span_t params)
{
    ik_acp_t *acp = data;
    if (strcmp(method, "$/cancel_request") == 0) {
        cancel_request(acp, params);
    } else if (strcmp(method, "session/cancel") == 0) {
        char *id = ik_acp_text(acp, params, "sessionId");
        ik_acp_session_t *session = id == NULL ? NULL : ik_acp_session_find(acp, id);
        talloc_free(id);
        if (session != NULL) {
            ik_acp_turn_cancel(session);
        }
    }
}

static void on_junk(void *data, const char *line, size_t len)
{
    (void)data;
    (void)line;
    (void)len;
    ik_acp_log("a line on standard input is not a message of JSON-RPC");
}

/* --- the connection ---------------------------------------------------------------------- */

static void write_line(void *data, const char *line, size_t len)
{
    ik_acp_t *acp = data;
    ik_duplex_write(acp->duplex, line, len);
}

static void on_bytes(void *data, const char *bytes, size_t len)
{
    ik_acp_t *acp = data;
    ik_rpc_feed(acp->rpc, bytes, len);
}

static void on_end(void *data)
{
    ik_acp_t *acp = data;
    acp->done = true;
}

static void on_interrupt(void *data, int signal)
{
    ik_acp_t *acp = data;
    acp->signal = signal;
    acp->done = true;
}

/* Ends everything that runs: first all turns at once, then one session after the other. */
static void stop(ik_acp_t *acp)
{
    ik_rpc_close(acp->rpc);
    for (size_t i = 0; i < acp->session_count; i++) {
        ik_workspace_t *workspace = acp->sessions[i]->workspace;
        ik_workspace_interrupt(workspace, ik_workspace_focus(workspace));
    }
    for (size_t i = 0; i < acp->session_count; i++) {
        ik_workspace_stop(acp->sessions[i]->workspace, STOP_MS);
    }
    for (size_t i = 0; i < acp->session_count; i++) {
        ik_workspace_close(acp->sessions[i]->workspace, IK_HISTORY_FINISH_MS);
        TALLOC_FREE(acp->sessions[i]->workspace);
    }
}

/* Standard output belongs to the protocol: whatever else is printed there goes to standard error.
 */
static int take_standard_output(void)
{
    fflush(stdout);
    int own = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (own < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        return own < 0 ? STDOUT_FILENO : own;
    }
    return own;
}

int ik_acp_run(const void *ctx, const ik_acp_options_t *options)
{
    ik_acp_t *acp = ik_new(ctx, ik_acp_t);
    int out = take_standard_output();
    acp->options = options;
    acp->reaper = ik_timer_create(acp, options->loop, ik_acp_session_reap, acp);
    acp->duplex = ik_duplex_create(acp, &(ik_duplex_options_t){.loop = options->loop,
                                                               .in = STDIN_FILENO,
                                                               .out = out,
                                                               .max_unsent = UNSENT_MAX,
                                                               .on_bytes = on_bytes,
                                                               .on_end = on_end,
                                                               .data = acp});
    acp->rpc = ik_rpc_create(acp, &(ik_rpc_options_t){.max_line = LINE_MAX_BYTES,
                                                      .answers_junk = true,
                                                      .write = write_line,
                                                      .on_request = on_request,
                                                      .on_notification = on_notification,
                                                      .on_junk = on_junk,
                                                      .data = acp});
    ik_interrupt_t *interrupt = ik_interrupt_create(acp, options->loop, on_interrupt, acp);
    ik_loop_run_until(options->loop, &acp->done);
    ik_duplex_flush(acp->duplex, FLUSH_MS);
    stop(acp);
    talloc_free(interrupt);
    int status = acp->signal == 0 ? 0 : 128 + acp->signal;
    res_t written = ik_duplex_failure(acp->duplex);
    if (status == 0 && is_err(&written)) {
        ik_acp_log(ik_sprintf(acp, "cannot write to standard output: %s", written.message));
        status = 1;
    }
    talloc_free(acp);
    close(out);
    return status;
}

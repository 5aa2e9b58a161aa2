#include "mcp/mcp_call.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "mcp/mcp_elicitation.h"
#include "mcp/mcp_result.h"
#include "tool/tool_images.h"
#include "tool/tool_wrapper.h"

enum {
    HEADER_MISMATCH = -32020, /* the headers of a call are not those that its tool asks for */
    VISITS_REQUIRED = -32042, /* the user has to visit addresses before the call can work */
    ROUNDS_MAX = 16,          /* how often a server may ask for input during one call */
    INPUTS_MAX = 32,          /* of one round */
    ASKING_MS = 1000,         /* how often a call looks whether the user has answered */
};

typedef struct {
    const ik_tool_context_t *context;
    ik_mcp_server_t *server;
    const char *name;
    const char *tool; /* as the server calls it */
    char *arguments;
    void *opening;               /* waits for the connection; NULL: it is open */
    ik_mcp_exchange_t *exchange; /* the open request; NULL: none */
    ik_timer_t *timer;
    int64_t started_ms;
    int64_t progress_ms;
    int64_t idle_ms;
    int64_t max_ms;
    bool relisted; /* the tools were asked for again because of this call */
    bool overdue;  /* its deadline has passed; what has arrived is read before it ends */

    /* Input that the server wants before it goes on; see take_input. */
    json_t *wanted;
    void *iterator;
    json_t *responses;
    json_t *state; /* requestState; NULL: none */
    void *form;    /* the question to the user */
    bool answered; /* it was answered before it returned */
    char *refusal; /* why the call was refused before the user's visits; NULL: it was not */
    int rounds;

    char *confined; /* to what the server's process is held; NULL: to nothing */
    ik_tool_images_t *images;
    char *printed;       /* the result that has them */
    ik_timer_t *deliver; /* from the loop */
    ik_tool_result_t result;
    void (*on_progress)(void *data, const char *text, size_t len);
    void (*on_end)(void *data, const ik_tool_result_t *result);
    void *data;
} call_t;

/* --- the end ----------------------------------------------------------------------------- */

static void on_deliver(void *data)
{
    call_t *call = data;
    call->on_end(call->data, &call->result);
}

/* Everything ends in the loop, never inside a callback of the server. */
static void deliver(call_t *call)
{
    if (call->confined != NULL) {
        call->result.envelope =
            ik_tool_wrap_add_confined(call->result.owner, call->result.envelope, call->confined);
    }
    ik_timer_stop(call->timer);
    call->result.wall_ms = ik_clock_now_ms() - call->started_ms;
    ik_timer_start(call->deliver, 0);
}

static void fail(call_t *call, const char *code, const char *error)
{
    char *err = strcmp(code, IK_TOOL_CRASHED) == 0
                    ? ik_mcp_log_tail(call, ik_mcp_server_log(call->server))
                    : NULL;
    ik_tool_failure_t failure = {.error = error,
                                 .code = code,
                                 .exit_code = -1,
                                 .out = "",
                                 .err = err == NULL ? "" : err,
                                 .err_len = err == NULL ? 0 : strlen(err)};
    call->result.envelope =
        ik_tool_wrap_failure(call->result.owner, &failure, ik_tool_max_output(call->context));
    call->result.success = false;
    deliver(call);
}

static const char *server_name(const call_t *call)
{
    return ik_mcp_server_config(call->server)->name;
}

char *ik_mcp_call_describe_login(const void *ctx, const char *server, const char *scope)
{
    return ik_sprintf(ctx, "The server '%s' needs a login%s%.300s: run ikigai mcp login %s", server,
                      scope == NULL ? "" : " with the scope ", scope == NULL ? "" : scope, server);
}

static void fail_invalid(call_t *call, const char *reason)
{
    fail(call, IK_TOOL_INVALID_OUTPUT,
         ik_sprintf(call, "Tool '%s' returned an invalid result: %s", call->name, reason));
}

static void on_images(void *data, const ik_tool_images_end_t *end)
{
    call_t *call = data;
    ik_tool_images_succeed(end, ik_tool_max_output(call->context), NULL, &call->result);
    deliver(call);
}

static void take_result(call_t *call, ik_json_span_t result)
{
    const char *reason;
    char *formatted = ik_mcp_result_format(call, result, &reason);
    ik_json_span_t span;
    if (formatted == NULL || !ik_json_scan(formatted, strlen(formatted), &span, NULL)) {
        fail_invalid(call, formatted == NULL ? reason : "it cannot be read");
        return;
    }
    ik_mcp_server_forgive(call->server);
    if (ik_tool_images_found(span)) {
        ik_timer_stop(call->timer);
        call->printed = formatted;
        call->images =
            ik_tool_images_start(call, &(ik_tool_images_options_t){.context = call->context,
                                                                   .host = call->context->host,
                                                                   .tool = call->name,
                                                                   .result = span,
                                                                   .on_end = on_images,
                                                                   .data = call});
        return;
    }
    call->result.envelope =
        ik_tool_wrap_success(call->result.owner, span, ik_tool_max_output(call->context), NULL);
    call->result.success = true;
    deliver(call);
}

/* --- the request ------------------------------------------------------------------------- */

static void send_call(call_t *call);
static void on_open(void *data, const char *why);

static void next_input(call_t *call);

static void take_response(call_t *call, const char *text)
{
    json_object_set_new(call->responses, json_object_iter_key(call->iterator),
                        ik_json_parse(text, strlen(text), NULL));
    call->iterator = json_object_iter_next(call->wanted, call->iterator);
}

static void on_elicited(void *data, const char *result)
{
    call_t *call = data;
    take_response(call, result);
    call->answered = true;
    if (call->form != NULL) {
        call->form = NULL;
        call->progress_ms = ik_clock_now_ms();
        next_input(call);
    }
}

static void fail_refused(call_t *call, const char *error, int64_t code)
{
    fail(call, IK_MCP_ERROR, error);
    if (code != 0) {
        char *text = ik_sprintf(call, "%" PRId64, code);
        call->result.envelope =
            ik_tool_wrap_add_member(call->result.owner, call->result.envelope, "code", text);
    }
    ik_mcp_server_forgive(call->server);
}

/* Whether the user agreed to everything that was asked. */
static bool is_accepted(json_t *responses)
{
    const char *key;
    json_t *response;
    json_object_foreach(responses, key, response)
    {
        const char *action = json_string_value(json_object_get(response, "action"));
        if (action == NULL || strcmp(action, "accept") != 0) {
            return false;
        }
    }
    return true;
}

/* Collects the input one by one, then sends the request again with it. */
static void next_input(call_t *call)
{
    while (call->iterator != NULL) {
        json_t *wanted = json_object_iter_value(call->iterator);
        const char *method = json_string_value(json_object_get(wanted, "method"));
        json_t *params = json_object_get(wanted, "params");
        char *text = json_is_object(params) ? ik_json_format(call, params) : NULL;
        ik_json_span_t span = {text, text == NULL ? 0 : strlen(text)};
        if (method != NULL && strcmp(method, "roots/list") == 0) {
            take_response(call, ik_mcp_server_roots(call, call->server));
        } else if (method != NULL && strcmp(method, "elicitation/create") == 0 && text != NULL &&
                   ik_mcp_elicitation_fault(span) == NULL) {
            call->answered = false;
            void *form = ik_mcp_elicit(call, ik_mcp_server_options(call->server), server_name(call),
                                       span, on_elicited, call);
            if (!call->answered) {
                call->form = form;
                return;
            }
        } else {
            fail_invalid(call, "it asks for input that ikigai does not give");
            return;
        }
        talloc_free(text);
    }
    if (call->refusal != NULL && !is_accepted(call->responses)) {
        fail_refused(call, call->refusal, VISITS_REQUIRED);
    } else {
        send_call(call);
    }
}

/* The server wants input before it goes on. */
static void take_input(call_t *call, ik_json_span_t result)
{
    json_t *root = ik_json_adopt(call, ik_json_parse(result.text, result.len, NULL));
    json_t *wanted = json_object_get(root, "inputRequests");
    call->state = json_object_get(root, "requestState");
    call->wanted = json_is_object(wanted) ? wanted : NULL;
    call->responses = ik_json_adopt(call, json_object());
    call->iterator = json_object_iter(call->wanted);
    if (++call->rounds > ROUNDS_MAX || json_object_size(call->wanted) > INPUTS_MAX) {
        fail_invalid(call, "it asks for input again and again");
        return;
    }
    next_input(call);
}

/* Asks the user to visit the addresses that the server names, once; the call is sent again after
 * that. False: it names none. */
static bool take_visits(call_t *call, const char *error, ik_json_span_t detail)
{
    json_t *root = detail.len == 0 ? NULL : ik_json_parse(detail.text, detail.len, NULL);
    json_t *list = json_object_get(ik_json_adopt(call, root), "elicitations");
    size_t i;
    json_t *each;
    if (call->rounds > 0 || json_array_size(list) == 0 || json_array_size(list) > INPUTS_MAX) {
        return false;
    }
    call->rounds++;
    call->refusal = ik_strdup(call, error);
    call->wanted = ik_json_adopt(call, json_object());
    json_array_foreach(list, i, each)
    {
        char *key = ik_sprintf(call, "%zu", i);
        const char *url = json_string_value(json_object_get(each, "url"));
        json_object_set_new(call->wanted, key,
                            json_pack("{s:s, s:o}", "method", "elicitation/create", "params",
                                      json_pack("{s:s, s:O*, s:O*}", "mode", "url", "message",
                                                json_object_get(each, "message"), "url",
                                                json_object_get(each, "url"))));
        call->refusal = ik_sprintf(call, "%s\nVisit %s", call->refusal, url == NULL ? "?" : url);
    }
    call->responses = ik_json_adopt(call, json_object());
    call->iterator = json_object_iter(call->wanted);
    next_input(call);
    return true;
}

static void on_lost(void *data, bool login, const char *scope, const char *why)
{
    call_t *call = data;
    call->exchange = NULL;
    fail(call, login ? IK_MCP_AUTH_REQUIRED : IK_MCP_SERVER_UNAVAILABLE,
         login ? ik_mcp_call_describe_login(call, server_name(call), scope)
               : ik_sprintf(call, "The server '%s' is not available: %s", server_name(call), why));
}

static void on_answer(void *data, const ik_rpc_answer_t *answer)
{
    call_t *call = data;
    ik_json_span_t type;
    call->exchange = NULL;
    if (answer->closed && ik_mcp_server_config(call->server)->type == IK_CONFIG_SERVER_HTTP) {
        on_lost(call, ik_mcp_server_facts(call->server)->status == IK_MCP_LOGIN, NULL,
                ik_mcp_server_end(call->server));
    } else if (answer->closed) {
        fail(call, IK_TOOL_CRASHED,
             ik_sprintf(call, "The server '%s' died during the call: %s", server_name(call),
                        ik_mcp_server_end(call->server)));
    } else if (answer->failed && answer->code == HEADER_MISMATCH && !call->relisted &&
               ik_mcp_server_facts(call->server)->modern) {
        call->relisted = true; /* the schema says which headers there are, and may be an old one */
        call->opening = ik_mcp_server_relist(call, call->server, on_open, call);
    } else if (answer->failed) {
        char *text = answer->text.len > 0 ? ik_json_decode(call, answer->text, NULL)
                                          : ik_strdup(call, "The server reports an error");
        if (answer->code != VISITS_REQUIRED || !take_visits(call, text, answer->detail)) {
            fail_refused(call, text, answer->code);
        }
    } else if (ik_json_is(answer->result, IK_JSON_OBJECT) &&
               ik_json_find(answer->result, "resultType", &type) &&
               !ik_json_is_text(type, "complete")) {
        if (ik_json_is_text(type, "input_required")) {
            take_input(call, answer->result);
        } else {
            fail_invalid(call, "its type is not known");
        }
    } else {
        take_result(call, answer->result);
    }
}

static void on_server_progress(void *data, const char *text, size_t len)
{
    call_t *call = data;
    call->progress_ms = ik_clock_now_ms();
    if (len > 0 && call->on_progress != NULL) {
        call->on_progress(call->data, text, len);
    }
}

static void on_flood(void *data)
{
    call_t *call = data;
    call->exchange = NULL;
    fail_invalid(call, "it is longer than 32 MB");
}

static void send_call(call_t *call)
{
    ik_buffer_t members;
    ik_buffer_init(&members, call, IK_BUFFER_UNLIMITED); /* bounded by the arguments */
    ik_buffer_append_text(&members, "\"name\":");
    ik_json_append_text(&members, call->tool);
    ik_buffer_append_format(&members, ",\"arguments\":%s", call->arguments);
    if (call->rounds > 0 && call->refusal == NULL) {
        char *responses = ik_json_format(call, call->responses);
        ik_buffer_append_format(&members, ",\"inputResponses\":%s", responses);
        talloc_free(responses);
    }
    if (json_is_string(call->state)) {
        ik_buffer_append_text(&members, ",\"requestState\":");
        ik_json_append_string(&members, json_string_value(call->state),
                              json_string_length(call->state));
    }
    call->progress_ms = ik_clock_now_ms();
    call->exchange = ik_mcp_server_send(call, call->server, "tools/call", members.data,
                                        &(ik_mcp_exchange_fns_t){.on_answer = on_answer,
                                                                 .on_progress = on_server_progress,
                                                                 .on_flood = on_flood,
                                                                 .on_lost = on_lost,
                                                                 .data = call});
    ik_buffer_reset(&members);
    if (call->exchange == NULL) {
        fail(call, IK_TOOL_CRASHED,
             ik_sprintf(call, "The server '%s' died: %s", server_name(call),
                        ik_mcp_server_end(call->server)));
    }
}

/* --- clocks ------------------------------------------------------------------------------ */

static int64_t next_deadline(const call_t *call)
{
    int64_t idle_at = call->progress_ms + call->idle_ms;
    int64_t end_at = call->started_ms + call->max_ms;
    return call->exchange == NULL || end_at < idle_at ? end_at : idle_at;
}

static void set_timer(call_t *call)
{
    int64_t left = next_deadline(call) - ik_clock_now_ms();
    ik_timer_start(call->timer, left > 0 ? left : 0);
}

/* Progress only updates progress_ms; see io/process.c. A round passes before the call ends, so that
 * what has arrived in time is read. */
static void on_timer(void *data)
{
    call_t *call = data;
    int64_t now = ik_clock_now_ms();
    if (call->form != NULL || ik_mcp_server_is_asking(call->server)) {
        call->started_ms += ASKING_MS; /* the user's time is not the tool's */
        call->progress_ms = now;
        ik_timer_start(call->timer, ASKING_MS);
        return;
    }
    if (now < next_deadline(call)) {
        call->overdue = false;
        set_timer(call);
        return;
    }
    if (!call->overdue) {
        call->overdue = true;
        ik_timer_start(call->timer, 1);
        return;
    }
    bool over = now >= call->started_ms + call->max_ms;
    char *error =
        ik_tool_wrap_describe_timeout(call, call->name, over ? call->max_ms : call->idle_ms, !over);
    const char *junk = call->exchange == NULL ? NULL : ik_mcp_exchange_junk(call->exchange);
    if (junk != NULL) {
        error = ik_sprintf(call, "%s; its server printed a line that is not a message: %s", error,
                           junk);
    }
    if (call->exchange != NULL) {
        ik_mcp_server_give_up(call->server, call->exchange, "timeout");
        call->exchange = NULL;
    }
    TALLOC_FREE(call->opening);
    fail(call, IK_TOOL_TIMEOUT, error);
}

/* --- the runner -------------------------------------------------------------------------- */

static void on_open(void *data, const char *why)
{
    call_t *call = data;
    call->opening = NULL;
    if (why == NULL) {
        send_call(call);
        set_timer(call);
        return;
    }
    bool login = ik_mcp_server_facts(call->server)->status == IK_MCP_LOGIN;
    fail(call, login ? IK_MCP_AUTH_REQUIRED : IK_MCP_SERVER_UNAVAILABLE,
         login ? ik_mcp_call_describe_login(call, server_name(call), NULL)
               : ik_sprintf(call, "The server '%s' is not available: %s", server_name(call), why));
}

/* A call that is freed while it runs is given up. */
static int give_up(call_t *call)
{
    if (call->exchange != NULL) {
        ik_mcp_server_give_up(call->server, call->exchange, "interrupted by the user");
        call->exchange = NULL;
    }
    return 0;
}

static void *start(const void *ctx, const ik_tool_context_t *context,
                   const ik_tool_registry_entry_t *entry, const ik_tool_request_t *request)
{
    call_t *call = ik_new(ctx, call_t);
    const ik_config_t *config = context->config;
    ik_loop_t *loop = ik_process_host_loop(context->host);
    call->context = context;
    call->server = entry->peer;
    const ik_config_server_t *settings = ik_mcp_server_config(call->server);
    call->result.owner = talloc_new(call);
    call->name = ik_strdup(call, request->name);
    call->tool = ik_strdup(call, entry->tool);
    call->arguments = ik_strndup(call, request->arguments, request->arguments_len);
    if (settings->type == IK_CONFIG_SERVER_STDIO && request->confined != NULL) {
        call->confined = ik_strdup(call, request->confined);
    }
    call->on_progress = request->on_progress;
    call->on_end = request->on_end;
    call->data = request->data;
    long seconds =
        settings->timeout_seconds > 0 ? settings->timeout_seconds : config->tool_timeout_seconds;
    call->idle_ms = (int64_t)seconds * 1000;
    call->max_ms = (int64_t)config->tool_max_seconds * 1000;
    call->started_ms = call->progress_ms = ik_clock_now_ms();
    call->timer = ik_timer_create(call, loop, on_timer, call);
    call->deliver = ik_timer_create(call, loop, on_deliver, call);
    talloc_set_destructor(call, give_up);
    set_timer(call);
    call->opening = ik_mcp_server_open(call, call->server, false, on_open, call);
    return call;
}

static void cancel(void *data)
{
    call_t *call = data;
    if (call->result.envelope != NULL) {
        return; /* it has ended already */
    }
    if (call->exchange != NULL) {
        ik_mcp_server_give_up(call->server, call->exchange, "interrupted by the user");
        call->exchange = NULL;
    }
    TALLOC_FREE(call->opening);
    TALLOC_FREE(call->form);
    TALLOC_FREE(call->images);
    fail(call, IK_TOOL_INTERRUPTED, ik_sprintf(call, "Tool '%s' was interrupted", call->name));
}

const ik_tool_runner_t ik_mcp_call = {.start = start, .cancel = cancel};

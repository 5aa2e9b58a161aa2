/* The life of a call. */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "serve/mcp_serve_format.h"
#include "serve/mcp_serve_state.h"
#include "tool/tool_wrapper.h"

enum {
    PROGRESS_MS = 100, /* between two messages about one call */
    PROGRESS_MAX = 1024,
};

/* What it started ends with it, as a child. */
static int unlink_call(ik_mcp_serve_call_t *call)
{
    if (call->grant != NULL) {
        ik_mcp_serve_question_forget(call->grant);
    }
    *call->link = call->next;
    if (call->next != NULL) {
        call->next->link = call->link;
    }
    return 0;
}

void ik_mcp_serve_call_adopt(ik_mcp_serve_call_t *call, ik_rpc_request_t *request)
{
    ik_json_span_t meta;
    ik_json_span_t token;
    TALLOC_FREE(call->token);
    if (ik_json_find_kind(request->params, "_meta", IK_JSON_OBJECT, &meta) &&
        ik_json_find(meta, "progressToken", &token) &&
        (ik_json_kind(token) == IK_JSON_STRING || ik_json_kind(token) == IK_JSON_NUMBER)) {
        call->token = ik_strndup(call, token.text, token.len);
    }
    call->request = request;
    request->data = call;
}

ik_mcp_serve_call_t *ik_mcp_serve_call_create(ik_mcp_serve_t *server, ik_rpc_request_t *request,
                                              const char *name, ik_json_span_t arguments,
                                              bool modern, bool asks)
{
    ik_mcp_serve_call_t *call = ik_new(server, ik_mcp_serve_call_t);
    call->server = server;
    call->modern = modern;
    call->asks = asks;
    call->id = ik_sprintf(call, "mcp-%lld", (long long)++server->last_number);
    call->name = ik_strdup(call, name);
    call->arguments = arguments.len == 0 ? ik_strdup(call, "{}")
                                         : ik_strndup(call, arguments.text, arguments.len);
    ik_mcp_serve_call_adopt(call, request);
    call->next = server->calls;
    call->link = &server->calls;
    if (call->next != NULL) {
        call->next->link = &call->next;
    }
    server->calls = call;
    talloc_set_destructor(call, unlink_call);
    return call;
}

ik_mcp_serve_call_t *ik_mcp_serve_call_find(const ik_mcp_serve_t *server, const char *id)
{
    ik_mcp_serve_call_t *call = server->calls;
    while (call != NULL && strcmp(call->id, id) != 0) {
        call = call->next;
    }
    return call;
}

void ik_mcp_serve_call_end(ik_mcp_serve_call_t *call, const char *result)
{
    if (call->request != NULL) {
        ik_rpc_respond(call->request, result, strlen(result));
        call->request = NULL;
    }
    talloc_free(call);
}

static void on_end(void *data, const ik_tool_result_t *result)
{
    ik_mcp_serve_call_t *call = data;
    char *text = ik_mcp_serve_format_call(call, result, call->server->context.images, call->modern);
    if (call->grant != NULL) {
        call->result = text;
    } else {
        ik_mcp_serve_call_end(call, text);
    }
}

void ik_mcp_serve_call_refuse(ik_mcp_serve_call_t *call, const char *why)
{
    on_end(call, &(ik_tool_result_t){
                     .envelope = ik_tool_wrap_refusal(call, IK_TOOL_PERMISSION_DENIED, why)});
}

static void on_progress(void *data, const char *text, size_t len)
{
    ik_mcp_serve_call_t *call = data;
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

void ik_mcp_serve_call_start(ik_mcp_serve_call_t *call)
{
    ik_mcp_serve_t *server = call->server;
    call->run = ik_single_call_start(
        call,
        &(ik_single_call_options_t){.loop = server->options->loop,
                                    .gate = call->asks ? server->asking : server->unattended,
                                    .hooks = server->options->gate->hooks,
                                    .context = &server->context,
                                    .registry = server->options->registry},
        &(ik_tool_request_t){.name = call->name,
                             .arguments = call->arguments,
                             .arguments_len = strlen(call->arguments),
                             .call_id = call->id,
                             .session_id = "mcp",
                             .on_progress = on_progress,
                             .on_end = on_end,
                             .data = call});
}

void ik_mcp_serve_call_cancel(ik_mcp_serve_call_t *call)
{
    call->request = NULL;
    if (!ik_single_call_cancel(call->run)) {
        talloc_free(call);
    }
}

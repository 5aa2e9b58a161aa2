#include "permission/single_call.h"

#include <string.h>

#include "base/alloc.h"
#include "tool/tool_wrapper.h"

struct ik_single_call {
    ik_single_call_options_t options;
    ik_tool_request_t request;
    const ik_tool_registry_entry_t *entry; /* NULL: the call cannot run, as the runner says */
    ik_tool_call_t *running;               /* NULL: not yet, or not any more */
    void *hooks;                           /* those after it; NULL: none run */
    ik_tool_result_t *result;              /* NULL: not yet */
    char *said;                            /* by hooks; NULL: nothing */
    ik_timer_t *soon;                      /* delivers the result */
};

/* Keeps what a hook says. */
static void add_said(ik_single_call_t *call, const char *text)
{
    if (text != NULL) {
        call->said = call->said == NULL ? ik_strdup(call, text)
                                        : ik_sprintf(call, "%s\n%s", call->said, text);
    }
}

static void on_soon(void *data)
{
    ik_single_call_t *call = data;
    if (call->said != NULL) {
        ik_buffer_t literal;
        ik_buffer_init(&literal, call, IK_BUFFER_UNLIMITED); /* bounded by the text */
        ik_json_append_text(&literal, call->said);
        call->result->envelope =
            ik_tool_wrap_add_member(call, call->result->envelope, "hook", literal.data);
    }
    call->request.on_end(call->request.data, call->result); /* may free the call */
}

static void on_after_hooks(void *data, const ik_hook_outcome_t *outcome)
{
    ik_single_call_t *call = data;
    call->hooks = NULL;
    add_said(call, outcome->decision == IK_HOOK_DENY || outcome->stops ? outcome->reason : NULL);
    add_said(call, outcome->context);
    ik_timer_start(call->soon, 0);
}

static void on_tool_end(void *data, const ik_tool_result_t *result)
{
    ik_single_call_t *call = data;
    call->running = NULL; /* frees itself when this returns */
    call->result = ik_tool_result_take(call, result);
    if (call->entry == NULL ||
        !ik_hooks_any(call->options.hooks, IK_HOOK_AFTER_TOOL, call->entry->name)) {
        ik_timer_start(call->soon, 0);
        return;
    }
    call->hooks = ik_hooks_start(call, call->options.hooks,
                                 &(ik_hook_occasion_t){.event = IK_HOOK_AFTER_TOOL,
                                                       .agent = call->request.agent,
                                                       .tool = call->entry->name,
                                                       .input = call->request.arguments,
                                                       .input_len = call->request.arguments_len,
                                                       .call_id = call->request.call_id,
                                                       .response = result->envelope},
                                 on_after_hooks, call);
}

static void on_progress(void *data, const char *text, size_t len)
{
    ik_single_call_t *call = data;
    if (call->request.on_progress != NULL) {
        call->request.on_progress(call->request.data, text, len);
    }
}

static void on_verdict(void *data, const ik_call_verdict_t *verdict)
{
    ik_single_call_t *call = data;
    add_said(call, verdict->said);
    if (verdict->denied != NULL) {
        const char *code = verdict->code == NULL ? IK_TOOL_PERMISSION_DENIED : verdict->code;
        call->result = ik_new(call, ik_tool_result_t);
        *call->result = (ik_tool_result_t){.wall_ms = -1, .cpu_us = -1, .max_rss_kb = -1};
        call->result->envelope = ik_tool_wrap_refusal(call, code, verdict->denied);
        ik_timer_start(call->soon, 0);
        return;
    }
    if (verdict->arguments != NULL) {
        call->request.arguments = ik_strndup(call, verdict->arguments, verdict->arguments_len);
        call->request.arguments_len = verdict->arguments_len;
    }
    call->request.room = verdict->room;
    call->request.confined = verdict->confined == NULL ? NULL : ik_strdup(call, verdict->confined);
    call->request.open_places = verdict->open_places;
    call->request.may_write = verdict->may_write;
    ik_tool_request_t request = call->request;
    request.on_progress = on_progress;
    request.on_end = on_tool_end;
    request.data = call;
    call->running =
        ik_tool_call_start(call, call->options.context, call->options.registry, &request);
}

ik_single_call_t *ik_single_call_start(const void *ctx, const ik_single_call_options_t *options,
                                       const ik_tool_request_t *request)
{
    ik_json_span_t arguments;
    ik_single_call_t *call = ik_new(ctx, ik_single_call_t);
    call->options = *options;
    call->request = *request;
    call->soon = ik_timer_create(call, options->loop, on_soon, call);
    bool can_run = ik_json_scan(request->arguments, request->arguments_len, &arguments, NULL) &&
                   ik_json_is(arguments, IK_JSON_OBJECT);
    call->entry = can_run ? ik_tool_registry_lookup(options->registry, request->name) : NULL;
    options->gate->decide(options->gate->gate, call,
                          &(ik_call_t){.agent = request->agent,
                                       .id = request->call_id,
                                       .name = request->name,
                                       .arguments = request->arguments,
                                       .arguments_len = request->arguments_len,
                                       .entry = call->entry},
                          on_verdict, call);
    return call;
}

bool ik_single_call_cancel(ik_single_call_t *call)
{
    if (call->running != NULL) {
        ik_tool_call_cancel(call->running);
        return true;
    }
    if (call->hooks != NULL) {
        TALLOC_FREE(call->hooks);
        ik_timer_start(call->soon, 0);
    }
    return call->result != NULL;
}

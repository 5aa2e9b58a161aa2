#include "tool/tool_runner.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"
#include "tool/tool_wrapper.h"

struct ik_tool_call {
    ik_tool_request_t request; /* for its callbacks; the texts belong to the caller */
    const ik_tool_runner_t *runner;
    void *running;         /* what the runner started; NULL: nothing */
    ik_tool_result_t made; /* the result of a call that was refused */
    ik_timer_t *deliver;   /* delivers made from the loop */
};

ik_tool_result_t *ik_tool_result_take(const void *ctx, const ik_tool_result_t *result)
{
    ik_tool_result_t *taken = ik_new(ctx, ik_tool_result_t);
    *taken = *result;
    talloc_steal(taken, result->owner);
    return taken;
}

static void on_progress(void *data, const char *text, size_t len)
{
    ik_tool_call_t *call = data;
    if (call->request.on_progress != NULL) {
        call->request.on_progress(call->request.data, text, len);
    }
}

static void on_end(void *data, const ik_tool_result_t *result)
{
    ik_tool_call_t *call = data;
    call->request.on_end(call->request.data, result);
    talloc_free(call);
}

static void on_deliver(void *data)
{
    on_end(data, &((ik_tool_call_t *)data)->made);
}

static void refuse(ik_tool_call_t *call, const ik_tool_context_t *context, const char *code,
                   char *error)
{
    call->made = (ik_tool_result_t){.owner = talloc_new(call)};
    call->made.envelope = ik_tool_wrap_refusal(call->made.owner, code, error);
    call->deliver = ik_timer_create(call, ik_process_host_loop(context->host), on_deliver, call);
    ik_timer_start(call->deliver, 0);
}

ik_tool_call_t *ik_tool_call_start(const void *ctx, const ik_tool_context_t *context,
                                   const ik_tool_registry_t *registry,
                                   const ik_tool_request_t *request)
{
    ik_tool_call_t *call = ik_new(ctx, ik_tool_call_t);
    const ik_tool_registry_entry_t *entry =
        registry == NULL ? NULL : ik_tool_registry_lookup(registry, request->name);
    ik_json_span_t arguments;
    call->request = *request;
    if (entry == NULL) {
        refuse(call, context, IK_TOOL_NOT_FOUND,
               ik_sprintf(call, "Tool '%s' not found", request->name));
    } else if (!ik_json_scan(request->arguments, request->arguments_len, &arguments, NULL) ||
               ik_json_kind(arguments) != IK_JSON_OBJECT ||
               !ik_utf8_valid(request->arguments, request->arguments_len)) {
        refuse(call, context, IK_TOOL_INVALID_PARAMS,
               ik_sprintf(call, "Arguments of tool '%s' are not a JSON object", request->name));
    } else {
        ik_tool_request_t inner = *request;
        inner.on_progress = on_progress;
        inner.on_end = on_end;
        inner.data = call;
        call->runner = entry->runner;
        call->running = call->runner->start(call, context, entry, &inner);
    }
    return call;
}

void ik_tool_call_cancel(ik_tool_call_t *call)
{
    if (call->running != NULL) {
        call->runner->cancel(call->running);
    }
}

typedef struct {
    const void *ctx;
    const ik_tool_request_t *request;
    ik_tool_result_t *result;
    bool done;
} blocking_t;

static void on_blocking_progress(void *data, const char *text, size_t len)
{
    const ik_tool_request_t *request = ((blocking_t *)data)->request;
    if (request->on_progress != NULL) {
        request->on_progress(request->data, text, len);
    }
}

static void on_blocking_end(void *data, const ik_tool_result_t *result)
{
    blocking_t *blocking = data;
    blocking->result = ik_tool_result_take(blocking->ctx, result);
    blocking->done = true;
}

ik_tool_result_t *ik_tool_call_run(const void *ctx, const ik_tool_context_t *context,
                                   const ik_tool_registry_t *registry,
                                   const ik_tool_request_t *request)
{
    blocking_t blocking = {.ctx = ctx, .request = request};
    ik_tool_request_t inner = *request;
    inner.on_progress = on_blocking_progress;
    inner.on_end = on_blocking_end;
    inner.data = &blocking;
    ik_tool_call_start(ctx, context, registry, &inner);
    ik_loop_run_until(ik_process_host_loop(context->host), &blocking.done);
    return blocking.result;
}

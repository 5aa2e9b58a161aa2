#include "agent/call_batch.h"

#include "base/alloc.h"
#include "tool/tool_wrapper.h"

enum { OVERLAP_MAX = 8 }; /* processes at once, however many calls an answer makes */

typedef struct {
    ik_call_batch_t *batch;
    const ik_msg_t *message;
    char *id;
    char *name;
    char *arguments;
    size_t arguments_len;
    const ik_tool_registry_entry_t *entry; /* NULL: there is no such tool */
    void *decision;      /* pending at the gate; NULL: decided, or not asked yet */
    ik_tool_call_t *run; /* NULL: not running */
    ik_msg_t *result;    /* NULL: none yet, or delivered */
} call_t;

struct ik_call_batch {
    ik_call_batch_options_t options;
    call_t *calls;
    size_t count;
    size_t started;
    size_t running;
    size_t delivered;
    bool interrupted;
    ik_timer_t
        *advance; /* a tool reports its end from a callback: the next step runs from the loop */
};

/* --- results ----------------------------------------------------------------------------- */

static ik_msg_t *make_result(const call_t *call, const ik_tool_result_t *tool)
{
    const ik_call_batch_options_t *options = &call->batch->options;
    void *scratch = talloc_new(NULL);
    bool last = call == &call->batch->calls[call->batch->count - 1];
    ik_msg_result_t result = {
        .call_id = call->id,
        .name = call->name,
        .provider = ik_msg_field_text(scratch, call->message, "provider"),
        .output = tool->envelope,
        .success = tool->success,
        .err = tool->err,
        .wall_ms = tool->wall_ms,
        .cpu_us = tool->cpu_us,
        .max_rss_kb = tool->max_rss_kb,
    };
    if (last && options->limit > 0) {
        result.output = ik_tool_wrap_add_limit(scratch, tool->envelope, options->limit);
    }
    ik_msg_t *message = ik_msg_create_result(NULL, &result);
    talloc_free(scratch);
    return message;
}

/* The result of a call that did not run. */
static ik_msg_t *make_refusal(const call_t *call, const char *code, const char *error)
{
    ik_tool_result_t tool = {.wall_ms = -1, .cpu_us = -1, .max_rss_kb = -1};
    tool.envelope = ik_tool_wrap_refusal(NULL, code, error);
    ik_msg_t *message = make_result(call, &tool);
    talloc_free(tool.envelope);
    return message;
}

/* Delivers results up to the first call that has none. */
static void deliver_results(ik_call_batch_t *batch)
{
    while (batch->delivered < batch->count && batch->calls[batch->delivered].result != NULL) {
        call_t *call = &batch->calls[batch->delivered++];
        ik_msg_t *result = call->result;
        call->result = NULL;
        batch->options.on_result(batch->options.data, result);
    }
}

/* --- running ----------------------------------------------------------------------------- */

static void on_progress(void *data, const char *text, size_t len)
{
    call_t *call = data;
    call->batch->options.on_progress(call->batch->options.data, call->message, text, len);
}

static void on_tool_end(void *data, const ik_tool_result_t *result)
{
    call_t *call = data;
    call->run = NULL;
    call->batch->running--;
    call->result = make_result(call, result);
    ik_timer_start(call->batch->advance, 0);
}

static void on_verdict(void *data, const ik_call_verdict_t *verdict)
{
    call_t *call = data;
    ik_call_batch_t *batch = call->batch;
    const ik_call_batch_options_t *options = &batch->options;
    call->decision = NULL;
    if (verdict->denied != NULL) {
        batch->running--;
        call->result =
            make_refusal(call, verdict->code == NULL ? IK_TOOL_PERMISSION_DENIED : verdict->code,
                         verdict->denied);
        ik_timer_start(batch->advance, 0);
        return;
    }
    ik_tool_request_t request = {
        .name = call->name,
        .arguments = verdict->arguments == NULL ? call->arguments : verdict->arguments,
        .arguments_len = verdict->arguments == NULL ? call->arguments_len : verdict->arguments_len,
        .call_id = call->id,
        .session_id = options->session_id,
        .room = verdict->room,
        .confined = verdict->confined,
        .open_places = verdict->open_places,
        .on_progress = on_progress,
        .on_end = on_tool_end,
        .data = call,
    };
    /* before the tool runs: a listener may read a file that the tool changes */
    options->on_started(options->data, call->message);
    call->run =
        ik_tool_call_start(batch, &options->shared->tool_context, options->registry, &request);
}

static void start_call(ik_call_batch_t *batch, call_t *call)
{
    const ik_call_gate_t *gate = batch->options.shared->gate;
    ik_call_t facts = {.agent = batch->options.agent,
                       .id = call->id,
                       .name = call->name,
                       .arguments = call->arguments,
                       .arguments_len = call->arguments_len,
                       .entry = call->entry};
    batch->started++;
    batch->running++;
    void *decision = gate->decide(gate->gate, batch, &facts, on_verdict, call);
    if (decision != NULL) {
        call->decision = decision;
    }
}

static bool is_parallel(const call_t *call)
{
    return call->entry != NULL && call->entry->schema->parallel;
}

/* Whether the next call may start while others are running. */
static bool may_start(const ik_call_batch_t *batch)
{
    if (batch->interrupted || batch->started == batch->count) {
        return false;
    }
    return batch->running == 0 ||
           (batch->running < OVERLAP_MAX && is_parallel(&batch->calls[batch->started]) &&
            is_parallel(&batch->calls[batch->started - 1]));
}

static void start_calls(ik_call_batch_t *batch)
{
    while (may_start(batch)) {
        start_call(batch, &batch->calls[batch->started]);
    }
}

static void on_advance(void *data)
{
    ik_call_batch_t *batch = data;
    deliver_results(batch);
    start_calls(batch);
    if (batch->delivered == batch->count) {
        batch->options.on_end(batch->options.data);
    }
}

/* --- starting ---------------------------------------------------------------------------- */

/* Reads name and arguments from the stored message: what runs is what was logged. */
static void prepare(ik_call_batch_t *batch, call_t *call, const ik_msg_t *message)
{
    const ik_target_t *target = batch->options.target;
    const ik_tool_registry_t *registry = batch->options.registry;
    ik_json_span_t literal;
    ik_json_span_t arguments;
    ik_buffer_t restored;
    call->batch = batch;
    call->message = message;
    call->id = ik_msg_field_text(batch, message, "id");
    ik_msg_call_field(message, "name", &literal);
    call->name = ik_json_decode(batch, literal, NULL);
    ik_msg_call_field(message, "arguments", &literal);
    call->arguments = ik_json_decode(batch, literal, &call->arguments_len);
    call->entry = registry == NULL ? NULL : ik_tool_registry_lookup(registry, call->name);
    ik_buffer_init(&restored, batch, IK_BUFFER_UNLIMITED); /* shorter than the arguments */
    if (call->entry != NULL && target->provider->restore_arguments != NULL &&
        ik_json_scan(call->arguments, call->arguments_len, &arguments, NULL) &&
        target->provider->restore_arguments(&restored, target, call->entry->schema->parameters,
                                            arguments)) {
        call->arguments_len = restored.len;
        call->arguments = ik_buffer_take(batch, &restored);
    }
}

ik_call_batch_t *ik_call_batch_start(const void *ctx, const ik_call_batch_options_t *options)
{
    ik_call_batch_t *batch = ik_new(ctx, ik_call_batch_t);
    batch->options = *options;
    batch->count = options->count;
    batch->calls = ik_new_array(batch, call_t, options->count);
    batch->advance = ik_timer_create(batch, options->shared->loop, on_advance, batch);
    for (size_t i = 0; i < options->count; i++) {
        prepare(batch, &batch->calls[i], options->calls[i]);
    }
    start_calls(batch);
    return batch;
}

void ik_call_batch_interrupt(ik_call_batch_t *batch)
{
    batch->interrupted = true;
    for (size_t i = 0; i < batch->count; i++) {
        call_t *call = &batch->calls[i];
        if (call->run != NULL) {
            ik_tool_call_cancel(call->run);
            continue;
        }
        if (call->decision != NULL) {
            TALLOC_FREE(call->decision);
            batch->running--;
        } else if (i < batch->started) {
            continue;
        }
        call->result = make_refusal(call, IK_TOOL_INTERRUPTED,
                                    "The call was interrupted before the tool was started");
    }
    ik_timer_start(batch->advance, 0);
}

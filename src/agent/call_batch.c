#include "agent/call_batch.h"

#include "base/alloc.h"
#include "tool/tool_wrapper.h"

enum {
    OVERLAP_MAX = 8, /* processes at once, however many calls an answer makes */
    PAUSE_MS = 100,  /* a decision that takes longer ends the segment */
    HURRY_MS = 3000, /* for the state after the calls, once the user has interrupted them */
};

/* What is recorded for undo at the moment. */
typedef enum {
    NOTHING,
    BEFORE,  /* the state before the first call that may write is being recorded */
    OPEN,    /* it is recorded: calls may write */
    WITHOUT, /* it cannot be recorded: calls run nevertheless */
    AFTER,   /* the state after the calls is being recorded */
} recording_t;

typedef struct {
    ik_call_batch_t *batch;
    const ik_msg_t *message;
    char *id;
    char *name;
    char *arguments;
    size_t arguments_len;
    const ik_tool_registry_entry_t *entry; /* NULL: there is no such tool */
    void *decision;           /* pending at the gate; NULL: decided, or not asked yet */
    ik_call_verdict_t *held;  /* it may run when the files are recorded; NULL: it need not wait */
    ik_tool_call_t *run;      /* NULL: not running */
    ik_tool_result_t *result; /* owns its texts; NULL: none yet, or delivered */
    ik_tool_result_t *ended;  /* the result while hooks look at it; NULL: they do not */
    void *hooks;              /* these hooks; NULL: none are running */
    char *said;               /* by hooks, for the model; NULL: nothing */
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
    recording_t recording;
    void *segment;     /* see checkpoints.h; NULL: none */
    ik_timer_t *pause; /* runs while the gate decides and no call is running */
    ik_timer_t *hurry;
};

/* --- results ----------------------------------------------------------------------------- */

static const ik_hook_outcome_t *find_outcome(const call_t *call)
{
    return ik_call_review_outcome(call->batch->options.review, (size_t)(call - call->batch->calls));
}

/* Whether hooks look at its result. */
static bool is_followed(const call_t *call)
{
    return call->entry != NULL &&
           ik_hooks_any(call->batch->options.shared->hooks, IK_HOOK_AFTER_TOOL, call->entry->name);
}

static ik_call_t describe(const call_t *call)
{
    return (ik_call_t){.agent = call->batch->options.agent,
                       .id = call->id,
                       .name = call->name,
                       .arguments = call->arguments,
                       .arguments_len = call->arguments_len,
                       .entry = call->entry,
                       .hooks = find_outcome(call),
                       .reviewed = true,
                       .followed = is_followed(call)};
}

static ik_msg_t *make_message(const call_t *call)
{
    const ik_call_batch_options_t *options = &call->batch->options;
    const ik_tool_result_t *tool = call->result;
    void *scratch = talloc_new(NULL);
    char *envelope = tool->envelope;
    bool last = call == &call->batch->calls[call->batch->count - 1];
    ik_msg_result_t result = {
        .call_id = call->id,
        .name = call->name,
        .provider = ik_msg_field_text(scratch, call->message, "provider"),
        .success = tool->success,
        .images = tool->images,
        .image_count = tool->image_count,
        .err = tool->err,
        .wall_ms = tool->wall_ms,
        .cpu_us = tool->cpu_us,
        .max_rss_kb = tool->max_rss_kb,
        .completions = tool->completions,
        .display =
            call->entry == NULL || !tool->success ? IK_DISPLAY_USUAL : call->entry->schema->display,
    };
    if (options->on_envelope != NULL && tool->success) {
        ik_call_t facts = describe(call);
        envelope = options->on_envelope(options->data, scratch, &facts, envelope);
    }
    if (call->said != NULL) {
        ik_buffer_t literal;
        ik_buffer_init(&literal, scratch, IK_BUFFER_UNLIMITED); /* bounded by the text */
        ik_json_append_text(&literal, call->said);
        envelope = ik_tool_wrap_add_member(scratch, envelope, "hook", literal.data);
    }
    if (last && options->limit > 0) {
        envelope = ik_tool_wrap_add_limit(scratch, envelope, options->limit);
    }
    result.output = envelope;
    ik_msg_t *message = ik_msg_create_result(NULL, &result);
    talloc_free(scratch);
    return message;
}

/* The result of a call that did not run. */
static ik_tool_result_t *make_refusal(const call_t *call, const char *code, const char *error)
{
    ik_tool_result_t *result = ik_new(call->batch, ik_tool_result_t);
    *result = (ik_tool_result_t){.wall_ms = -1, .cpu_us = -1, .max_rss_kb = -1};
    result->envelope = ik_tool_wrap_refusal(result, code, error);
    return result;
}

/* Delivers results up to the first call that has none. Their messages are made here, because what
 * joins a result depends on those before it. */
static void deliver_results(ik_call_batch_t *batch)
{
    while (batch->delivered < batch->count && batch->calls[batch->delivered].result != NULL) {
        call_t *call = &batch->calls[batch->delivered++];
        ik_msg_t *message = make_message(call);
        TALLOC_FREE(call->result);
        batch->options.on_result(batch->options.data, message);
    }
}

/* --- running ----------------------------------------------------------------------------- */

static void on_progress(void *data, const char *text, size_t len)
{
    call_t *call = data;
    call->batch->options.on_progress(call->batch->options.data, call->message, text, len);
}

/* Keeps what a hook says to the model. */
static void add_said(call_t *call, const char *text)
{
    if (text != NULL) {
        call->said = call->said == NULL ? ik_strdup(call->batch, text)
                                        : ik_sprintf(call->batch, "%s\n%s", call->said, text);
    }
}

/* The call has ended, and so have the hooks that looked at its result. */
static void settle(call_t *call)
{
    call->batch->running--;
    call->result = call->ended;
    call->ended = NULL;
    ik_timer_start(call->batch->advance, 0);
}

static void on_after_hooks(void *data, const ik_hook_outcome_t *outcome)
{
    call_t *call = data;
    call->hooks = NULL;
    add_said(call, outcome->decision == IK_HOOK_DENY ? outcome->reason : NULL);
    add_said(call, outcome->context);
    settle(call);
    if (outcome->stops) {
        call->batch->options.on_stop(call->batch->options.data);
    }
}

static void on_tool_end(void *data, const ik_tool_result_t *result)
{
    call_t *call = data;
    ik_call_batch_t *batch = call->batch;
    ik_hooks_t *hooks = batch->options.shared->hooks;
    call->run = NULL;
    call->ended = ik_tool_result_take(batch, result);
    if (batch->interrupted || !is_followed(call)) {
        settle(call);
        return;
    }
    call->hooks = ik_hooks_start(batch, hooks,
                                 &(ik_hook_occasion_t){.event = IK_HOOK_AFTER_TOOL,
                                                       .agent = batch->options.agent,
                                                       .tool = call->entry->name,
                                                       .input = call->arguments,
                                                       .input_len = call->arguments_len,
                                                       .call_id = call->id,
                                                       .response = result->envelope},
                                 on_after_hooks, call);
}

static void run_call(call_t *call, const ik_call_verdict_t *verdict)
{
    ik_call_batch_t *batch = call->batch;
    const ik_call_batch_options_t *options = &batch->options;
    ik_tool_request_t request = {
        .name = call->name,
        .arguments = verdict->arguments == NULL ? call->arguments : verdict->arguments,
        .arguments_len = verdict->arguments == NULL ? call->arguments_len : verdict->arguments_len,
        .call_id = call->id,
        .session_id = options->session_id,
        .agent = options->agent,
        .room = verdict->room,
        .confined = verdict->confined,
        .open_places = verdict->open_places,
        .may_write = verdict->may_write,
        .on_progress = on_progress,
        .on_end = on_tool_end,
        .data = call,
    };
    /* before the tool runs: a listener may read a file that the tool changes */
    options->on_started(options->data, call->message);
    call->run =
        ik_tool_call_start(batch, &options->shared->tool_context, options->registry, &request);
}

/* --- recording for undo -------------------------------------------------------------------- */

static void run_held(ik_call_batch_t *batch)
{
    for (size_t i = 0; i < batch->started; i++) {
        call_t *call = &batch->calls[i];
        ik_call_verdict_t *verdict = call->held;
        if (verdict != NULL) {
            call->held = NULL;
            run_call(call, verdict);
            talloc_free(verdict);
        }
    }
}

static void on_before(void *data, const ik_checkpoint_t *taken)
{
    ik_call_batch_t *batch = data;
    batch->recording = taken->count > 0 ? OPEN : WITHOUT;
    batch->options.on_checkpoint(batch->options.data, IK_MSG_BEFORE, taken);
    run_held(batch);
}

static void begin_segment(ik_call_batch_t *batch)
{
    const ik_checkpoints_t *checkpoints = batch->options.shared->checkpoints;
    ik_call_t *calls = ik_new_array(batch, ik_call_t, batch->count);
    for (size_t i = 0; i < batch->count; i++) {
        calls[i] = describe(&batch->calls[i]);
    }
    talloc_free(batch->segment);
    batch->recording = BEFORE;
    batch->segment =
        checkpoints->begin(checkpoints->checkpoints, batch, calls, batch->count, on_before, batch);
    talloc_free(calls);
}

static bool is_any_held(const ik_call_batch_t *batch)
{
    for (size_t i = 0; i < batch->started; i++) {
        if (batch->calls[i].held != NULL) {
            return true;
        }
    }
    return false;
}

static void on_after(void *data, const ik_checkpoint_t *taken)
{
    ik_call_batch_t *batch = data;
    batch->recording = NOTHING;
    ik_timer_stop(batch->hurry);
    batch->options.on_checkpoint(batch->options.data, IK_MSG_AFTER, taken);
    if (is_any_held(batch)) {
        begin_segment(batch);
    } else {
        ik_timer_start(batch->advance, 0);
    }
}

static void end_segment(ik_call_batch_t *batch)
{
    batch->recording = AFTER;
    if (batch->interrupted) {
        ik_timer_start(batch->hurry, HURRY_MS);
    }
    batch->options.shared->checkpoints->end(batch->segment, on_after, batch);
}

static void on_hurry(void *data)
{
    ik_call_batch_t *batch = data;
    TALLOC_FREE(batch->segment);
    on_after(batch, &(ik_checkpoint_t){
                        .failed = true,
                        .notice = "This turn cannot be undone: recording the files after its calls "
                                  "was interrupted."});
}

/* The user may edit files while a question is open: these changes are not the agent's. */
static void on_pause(void *data)
{
    ik_call_batch_t *batch = data;
    bool runs = false;
    bool waits = false;
    for (size_t i = 0; i < batch->started; i++) {
        runs = runs || batch->calls[i].run != NULL || batch->calls[i].hooks != NULL;
        waits = waits || batch->calls[i].decision != NULL;
    }
    if (batch->recording == OPEN && waits && !runs) {
        end_segment(batch);
    }
}

/* Keeps the call waiting until the files are recorded. The room outlives the wait. */
static void hold(call_t *call, const ik_call_verdict_t *verdict)
{
    ik_call_batch_t *batch = call->batch;
    call->held = ik_call_verdict_copy(batch, verdict);
    if (batch->recording == NOTHING) {
        begin_segment(batch);
    }
}

/* --- starting calls ------------------------------------------------------------------------ */

static void on_verdict(void *data, const ik_call_verdict_t *verdict)
{
    call_t *call = data;
    ik_call_batch_t *batch = call->batch;
    bool recorded = batch->recording == OPEN || batch->recording == WITHOUT;
    call->decision = NULL;
    if (verdict->denied != NULL) {
        batch->running--;
        call->result =
            make_refusal(call, verdict->code == NULL ? IK_TOOL_PERMISSION_DENIED : verdict->code,
                         verdict->denied);
        ik_timer_start(batch->advance, 0);
    } else if (verdict->may_write && !recorded && batch->options.shared->checkpoints != NULL &&
               batch->options.on_checkpoint != NULL) {
        hold(call, verdict);
    } else {
        run_call(call, verdict);
    }
}

static void start_call(ik_call_batch_t *batch, call_t *call)
{
    const ik_call_gate_t *gate = batch->options.shared->gate;
    ik_call_t facts = describe(call);
    batch->started++;
    batch->running++;
    void *decision = gate->decide(gate->gate, batch, &facts, on_verdict, call);
    if (decision != NULL) {
        call->decision = decision;
        if (batch->recording == OPEN) {
            ik_timer_start(batch->pause, PAUSE_MS);
        }
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

/* The result of a call that is denied at once is delivered before the next one starts. */
static void start_calls(ik_call_batch_t *batch)
{
    bool denied = false;
    while (!denied && may_start(batch)) {
        call_t *call = &batch->calls[batch->started];
        start_call(batch, call);
        denied = call->result != NULL;
    }
}

static void on_advance(void *data)
{
    ik_call_batch_t *batch = data;
    deliver_results(batch);
    start_calls(batch);
    if (batch->delivered < batch->count) {
        return;
    }
    if (batch->recording == OPEN) {
        end_segment(batch);
    } else if (batch->recording != AFTER) {
        batch->options.on_end(batch->options.data);
    }
}

/* --- starting ---------------------------------------------------------------------------- */

/* Reads name and arguments from the stored message: what runs is what was logged. */
static void prepare(ik_call_batch_t *batch, call_t *call, const ik_msg_t *message)
{
    const ik_tool_registry_t *registry = batch->options.registry;
    ik_json_span_t literal;
    call->batch = batch;
    call->message = message;
    call->id = ik_msg_field_text(batch, message, "id");
    ik_msg_call_field(message, "name", &literal);
    call->name = ik_json_decode(batch, literal, NULL);
    ik_msg_call_field(message, "arguments", &literal);
    char *stored = ik_json_decode(batch, literal, &call->arguments_len);
    call->entry = registry == NULL ? NULL : ik_tool_registry_lookup(registry, call->name);
    call->arguments = ik_call_review_arguments(batch, batch->options.target, call->entry, stored,
                                               &call->arguments_len);
    talloc_free(stored);
    const ik_hook_outcome_t *outcome = find_outcome(call);
    add_said(call, outcome == NULL ? NULL : outcome->context); /* also if it is denied */
}

/* A hook has ended the turn before the first call. */
static void refuse_all(ik_call_batch_t *batch)
{
    batch->interrupted = true;
    for (size_t i = 0; i < batch->count; i++) {
        call_t *call = &batch->calls[i];
        const ik_hook_outcome_t *outcome = find_outcome(call);
        bool denied = outcome != NULL && (outcome->decision == IK_HOOK_DENY || outcome->stops);
        call->result = denied
                           ? make_refusal(call, IK_TOOL_PERMISSION_DENIED, outcome->reason)
                           : make_refusal(call, IK_TOOL_INTERRUPTED,
                                          "The call was interrupted before the tool was started");
    }
    ik_timer_start(batch->advance, 0);
}

ik_call_batch_t *ik_call_batch_start(const void *ctx, const ik_call_batch_options_t *options)
{
    ik_call_batch_t *batch = ik_new(ctx, ik_call_batch_t);
    batch->options = *options;
    batch->count = options->count;
    batch->calls = ik_new_array(batch, call_t, options->count);
    batch->advance = ik_timer_create(batch, options->shared->loop, on_advance, batch);
    batch->pause = ik_timer_create(batch, options->shared->loop, on_pause, batch);
    batch->hurry = ik_timer_create(batch, options->shared->loop, on_hurry, batch);
    for (size_t i = 0; i < options->count; i++) {
        prepare(batch, &batch->calls[i], options->calls[i]);
    }
    if (options->stopped) {
        refuse_all(batch);
    } else {
        start_calls(batch);
    }
    return batch;
}

void ik_call_batch_interrupt(ik_call_batch_t *batch)
{
    batch->interrupted = true;
    if (batch->recording == BEFORE) { /* no call of it has started */
        TALLOC_FREE(batch->segment);
        batch->recording = NOTHING;
    } else if (batch->recording == AFTER) {
        ik_timer_start(batch->hurry, HURRY_MS);
    }
    for (size_t i = 0; i < batch->count; i++) {
        call_t *call = &batch->calls[i];
        if (call->run != NULL) {
            ik_tool_call_cancel(call->run);
            continue;
        }
        if (call->hooks != NULL) {
            TALLOC_FREE(call->hooks);
            settle(call);
            continue;
        }
        if (call->decision != NULL || call->held != NULL) {
            TALLOC_FREE(call->decision);
            TALLOC_FREE(call->held);
            batch->running--;
        } else if (i < batch->started) {
            continue;
        }
        call->result = make_refusal(call, IK_TOOL_INTERRUPTED,
                                    "The call was interrupted before the tool was started");
    }
    ik_timer_start(batch->advance, 0);
}

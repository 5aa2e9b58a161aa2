/*
 * The pointer that is set gives the state of a turn:
 *
 *   exchange   a request is running
 *   review     hooks are asked about the calls of an answer, which is not stored yet
 *   batch      tools are running
 *   hooks      the turn_end hooks are asked about an answer without calls
 *   (none)     the turn waits for the next attempt or for a summary that shortens the request, or a
 *              callback is deciding what comes next
 *
 * on_answer handles a finished answer. An error leads to a changed request (without a field, a tool
 * or old reasoning, or with a shorter context), to another attempt after a delay, or to the end of
 * the turn.
 */
#include "agent/turn.h"

#include <string.h>

#include "agent/adaptation.h"
#include "agent/agent_request.h"
#include "agent/agent_state.h"
#include "agent/answer.h"
#include "agent/call_batch.h"
#include "agent/call_review.h"
#include "agent/compactor.h"
#include "agent/exchange.h"
#include "agent/nested_instructions.h"
#include "base/alloc.h"
#include "base/random.h"
#include "tool/tool_wrapper.h"

enum {
    RETRY_MAX = 4,
    RETRY_BASE_MS = 1000,
    RETRY_CAP_MS = 30000,
    HINT_MAX_MS = 60000, /* fail instead of waiting longer */
    RESUME_MAX = 20,
    GO_ON_MAX = 5, /* how often hooks may send the model back to work in a turn */
};

struct ik_turn {
    ik_agent_t *agent;
    const ik_tool_registry_t *registry; /* NULL: no tools */
    ik_request_t *request;
    ik_exchange_t *exchange;
    ik_stream_t *answer;      /* whose calls are reviewed; NULL: none are */
    ik_call_review_t *review; /* stays while the batch runs */
    ik_call_batch_t *batch;
    void *hooks;
    int sent_back; /* by hooks */
    ik_compactor_t *compactor;
    bool only_compacts;           /* no request follows the summary */
    ik_provider_error_t overflow; /* why a summary is asked for after a request was refused */
    const ik_msg_t **calls;       /* in batch */
    ik_instructions_t *joined;    /* the result that is delivered next; NULL: none */
    size_t step_at;               /* messages of the conversation before the last step */
    int64_t step_seq;             /* the last event of the log before the last step */
    bool calls_open;              /* calls of the last step have no result yet */
    ik_timer_t *wait;             /* for the next attempt */
    bool waiting;                 /* wait is running */
    int attempt;                  /* retries of the request so far */
    int resumes;
    ik_adaptation_t adaptation;
    bool asked_again; /* after a call that could not be parsed */
    long tool_turns;
    bool last_word;       /* the limit of tool turns is reached: no more tools */
    bool told_unrecorded; /* the user knows that this turn cannot be undone */
    bool interrupted;
    bool over;
    ik_turn_reason_t reason;
    char *continuation; /* token that continues the answer */
    char *carried;      /* its text so far */
    size_t text_item;   /* number of the answer's item that the last text belongs to, from 1 */
};

static void ask(ik_turn_t *turn);

/* --- events ------------------------------------------------------------------------------ */

static void emit_text(ik_turn_t *turn, ik_agent_event_kind_t kind, const char *text, size_t len)
{
    ik_agent_emit(turn->agent, &(ik_agent_event_t){.kind = kind, .text = text, .len = len});
}

static void notice(ik_turn_t *turn, const char *text)
{
    ik_agent_notice(turn->agent, text);
}

/* Marks the turn as over; leave() frees it at the end of the current callback. */
static void end_turn(ik_turn_t *turn, ik_turn_reason_t reason)
{
    turn->over = true;
    turn->reason = reason;
}

/* Every entry point ends with this call, which frees the turn if it is over. */
static void leave(ik_turn_t *turn)
{
    if (!turn->over) {
        return;
    }
    ik_agent_t *agent = turn->agent;
    ik_agent_event_t event = {.kind = IK_AGENT_TURN_ENDED, .reason = turn->reason};
    agent->turn = NULL;
    talloc_free(turn);
    ik_agent_use_next_target(agent);
    if (agent->wire != NULL) {
        ik_wire_drop(agent->wire);
    }
    ik_agent_emit(agent, &event);
}

/* status is that of HTTP; 0: none. */
static void end_with_status(ik_turn_t *turn, int status, const char *code, const char *message)
{
    ik_agent_emit(turn->agent, &(ik_agent_event_t){.kind = IK_AGENT_ERROR,
                                                   .status = status,
                                                   .code = code,
                                                   .text = message,
                                                   .len = strlen(message)});
    end_turn(turn, IK_TURN_ERROR);
}

static void end_with_error(ik_turn_t *turn, const char *code, const char *message)
{
    end_with_status(turn, 0, code, message);
}

/* --- storing answers --------------------------------------------------------------------- */

/* Appends the answer to the conversation and collects its calls. */
static void append_step(ik_turn_t *turn, const ik_stream_t *stream)
{
    bool last = turn->last_word || ik_stream_call_count(stream) == 0;
    ik_answer_options_t options = {.carried = turn->carried,
                                   .without_calls = turn->last_word,
                                   .prefix = turn->agent->wire->prefix};
    ik_conversation_t *step = ik_answer_to_messages(turn, stream, &options);
    size_t calls = 0;
    turn->step_at = turn->agent->conversation->count;
    turn->step_seq = ik_session_last_seq(turn->agent->session, turn->agent->number);
    turn->calls = ik_resize_array(turn, turn->calls, const ik_msg_t *, step->count + 1);
    for (size_t i = 0; i < step->count; i++) {
        if (ik_msg_is(step->messages[i], IK_MSG_TOOL_CALL)) {
            turn->calls[calls++] = step->messages[i];
        }
    }
    ik_agent_append_all(turn->agent, step->messages, step->count,
                        last ? IK_STORE_FULL : IK_STORE_NORMAL);
    talloc_free(step);
    TALLOC_FREE(turn->carried);
    TALLOC_FREE(turn->continuation);
}

/* Keeps the first parts of an answer that will not be continued. */
static void keep_carried(ik_turn_t *turn)
{
    ik_msg_step_t step = {
        .model = turn->agent->target->name,
        .stop = ik_stop_name(IK_STOP_INCOMPLETE),
        .incomplete = true,
        .usage = IK_USAGE_NONE,
    };
    if (turn->carried != NULL && *turn->carried != '\0') {
        ik_agent_append(turn->agent, ik_msg_create_assistant(NULL, turn->carried, &step),
                        IK_STORE_FULL);
    }
    TALLOC_FREE(turn->carried);
}

static void emit_usage(ik_turn_t *turn, const ik_stream_t *stream)
{
    if (ik_usage_known(&stream->usage)) {
        ik_agent_emit(turn->agent, &(ik_agent_event_t){
                                       .kind = IK_AGENT_USAGE,
                                       .usage = stream->usage,
                                       .cost = ik_model_cost(stream->target->facts, &stream->usage),
                                   });
    }
}

/* --- tools ------------------------------------------------------------------------------- */

static void on_tool_started(void *data, const ik_msg_t *call)
{
    ik_turn_t *turn = data;
    ik_agent_emit(turn->agent, &(ik_agent_event_t){.kind = IK_AGENT_TOOL_STARTED, .message = call});
}

static void on_tool_progress(void *data, const ik_msg_t *call, const char *text, size_t len)
{
    ik_turn_t *turn = data;
    ik_agent_emit(turn->agent,
                  &(ik_agent_event_t){
                      .kind = IK_AGENT_TOOL_PROGRESS, .message = call, .text = text, .len = len});
}

static char *on_tool_envelope(void *data, const void *ctx, const ik_call_t *call, char *envelope)
{
    ik_turn_t *turn = data;
    turn->joined = ik_nested_instructions_find(turn, turn->agent, call, envelope);
    return turn->joined == NULL ? envelope
                                : ik_nested_instructions_append(ctx, envelope, turn->joined);
}

static void on_tool_result(void *data, ik_msg_t *result)
{
    ik_turn_t *turn = data;
    ik_instructions_t *joined = turn->joined;
    turn->joined = NULL;
    ik_agent_append(turn->agent, result, turn->interrupted ? IK_STORE_FULL : IK_STORE_NORMAL);
    for (size_t i = 0; joined != NULL && i < joined->count; i++) {
        notice(turn, ik_instructions_format(joined, &joined->files[i]));
    }
    for (size_t i = 0; joined != NULL && i < joined->problem_count; i++) {
        notice(turn, joined->problems[i].text);
    }
    talloc_free(joined);
}

/* A turn of which a part could not be recorded says so once. */
static void on_checkpoint(void *data, ik_msg_phase_t phase, const ik_checkpoint_t *taken)
{
    ik_turn_t *turn = data;
    if (taken->count > 0 || phase == IK_MSG_AFTER) {
        ik_agent_record_checkpoint(turn->agent, phase, taken->states, taken->count);
    }
    if (taken->notice != NULL && !(taken->failed && turn->told_unrecorded)) {
        notice(turn, taken->notice);
    }
    turn->told_unrecorded = turn->told_unrecorded || taken->failed;
}

/* Tells the user; the last tool result tells the model. */
static void announce_limit(ik_turn_t *turn)
{
    long max = turn->agent->shared->config->max_tool_turns;
    char *text = ik_sprintf(turn,
                            "The limit of %ld tool turn%s is reached (max_tool_turns): the model "
                            "answers without tools.",
                            max, max == 1 ? "" : "s");
    notice(turn, text);
    talloc_free(text);
}

static void on_tools_end(void *data)
{
    ik_turn_t *turn = data;
    TALLOC_FREE(turn->batch);
    TALLOC_FREE(turn->review);
    turn->calls_open = false;
    if (turn->interrupted) {
        end_turn(turn, IK_TURN_INTERRUPTED);
    } else {
        if (turn->last_word) {
            announce_limit(turn);
        }
        ask(turn);
    }
    leave(turn);
}

/* A hook has ended the turn: on_tools_end follows. */
static void on_hook_stop(void *data)
{
    ik_turn_interrupt(data);
}

static void run_calls(ik_turn_t *turn, size_t count)
{
    ik_agent_t *agent = turn->agent;
    long max = agent->shared->config->max_tool_turns;
    turn->last_word = ++turn->tool_turns >= max;
    ik_call_batch_options_t options = {
        .shared = agent->shared,
        .registry = turn->registry,
        .session_id = ik_session_id(agent->session),
        .agent = agent->number,
        .target = agent->target,
        .limit = turn->last_word ? max : 0,
        .calls = turn->calls,
        .count = count,
        .review = turn->review,
        .stopped = turn->interrupted,
        .on_started = on_tool_started,
        .on_progress = on_tool_progress,
        .on_envelope = on_tool_envelope,
        .on_result = on_tool_result,
        .on_checkpoint = on_checkpoint,
        .on_stop = on_hook_stop,
        .on_end = on_tools_end,
        .data = turn,
    };
    turn->batch = ik_call_batch_start(turn, &options);
}

/* --- failures ---------------------------------------------------------------------------- */

/* Exponential backoff with full jitter, so that clients that failed together spread out. */
static int64_t retry_delay(int attempt)
{
    int64_t delay = (int64_t)RETRY_BASE_MS << attempt;
    delay = delay > RETRY_CAP_MS ? RETRY_CAP_MS : delay;
    return (int64_t)((double)delay * (double)(ik_random() % 1000) / 1000.0);
}

static void on_wait_over(void *data)
{
    ik_turn_t *turn = data;
    turn->waiting = false;
    ask(turn);
}

static void try_again(ik_turn_t *turn, const ik_provider_error_t *error)
{
    int64_t delay = error->retry_after_ms >= 0 ? error->retry_after_ms : retry_delay(turn->attempt);
    turn->attempt++;
    turn->waiting = true;
    ik_timer_start(turn->wait, delay);
    ik_agent_emit(turn->agent, &(ik_agent_event_t){.kind = IK_AGENT_RETRY,
                                                   .text = error->message,
                                                   .len = strlen(error->message),
                                                   .code = ik_fault_name(error->fault),
                                                   .attempt = turn->attempt,
                                                   .of = RETRY_MAX + 1,
                                                   .status = error->status,
                                                   .delay_ms = delay});
}

/* What the user can do about the error; NULL: no advice. */
static char *advise(const ik_turn_t *turn, const ik_provider_error_t *error)
{
    const ik_config_provider_t *provider = turn->agent->target->config;
    switch (error->fault) {
    case IK_FAULT_AUTH:
        return provider->api_key != NULL && !provider->key_from_file
                   ? ik_sprintf(turn, "check the key in %s and its permissions",
                                provider->api_key_env)
                   : ik_sprintf(turn, "enter a key with /login %s", provider->name);
    case IK_FAULT_QUOTA:
        return ik_strdup(turn, "waiting does not help: check the account's credit and limits");
    case IK_FAULT_NOT_FOUND:
        return ik_strdup(turn, "choose another model with -m provider/model, or check base_url");
    case IK_FAULT_OVERFLOW:
        return ik_strdup(turn, "nothing is left to shorten: start a new session");
    case IK_FAULT_TOO_LARGE:
        return ik_strdup(turn, "start a new session, or ask for less at once");
    default:
        return NULL;
    }
}

static void give_up(ik_turn_t *turn, const ik_provider_error_t *error)
{
    const char *code = *error->code != '\0' ? error->code : ik_fault_name(error->fault);
    const char *more = advise(turn, error);
    if (more == NULL && error->retryable && error->retry_after_ms > HINT_MAX_MS) {
        more = ik_sprintf(turn, "the server asks to wait %lld s",
                          (long long)(error->retry_after_ms / 1000));
    } else if (more == NULL && turn->attempt > 0) {
        more = ik_sprintf(turn, "after %d attempts", turn->attempt + 1);
    }
    char *message = more == NULL ? ik_strdup(turn, error->message)
                                 : ik_sprintf(turn, "%s (%s)", error->message, more);
    end_with_status(turn, error->status, code, message);
}

/* The last message besides compactions. */
static const ik_msg_t *find_last(const ik_conversation_t *conversation)
{
    size_t count = conversation->count;
    while (count > 1 && ik_msg_is(conversation->messages[count - 1], IK_MSG_COMPACTION)) {
        count--;
    }
    return conversation->messages[count - 1];
}

/* Whether the request sends something new, so that it may be preceded by a summary: an answer can
 * only be continued from the same messages. */
static bool may_compact(const ik_turn_t *turn)
{
    return turn->carried == NULL &&
           ik_msg_side(find_last(turn->agent->conversation)) == IK_MSG_USER_SIDE;
}

/* Makes a request that was too long shorter and sends it again, now or when the model has written a
 * summary; false if nothing is left to shorten. */
static bool shorten(ik_turn_t *turn, const ik_provider_error_t *error, size_t sent)
{
    ik_compactor_outcome_t outcome =
        ik_compactor_recover(turn->compactor, turn->request, sent, !may_compact(turn));
    turn->overflow = *error;
    if (outcome == IK_COMPACTOR_CHANGED) {
        ask(turn);
    }
    return outcome != IK_COMPACTOR_NONE;
}

static void on_failure(ik_turn_t *turn, ik_stream_t *stream, size_t sent)
{
    const ik_provider_error_t error = stream->error;
    if (ik_stream_is_visible(stream)) {
        stream->stop = IK_STOP_INCOMPLETE; /* keeps what was shown, marked as incomplete */
        append_step(turn, stream);
        give_up(turn, &error);
    } else if (error.fault == IK_FAULT_OVERFLOW && shorten(turn, &error, sent)) {
        return;
    } else if (ik_adaptation_apply(&turn->adaptation, turn->agent, turn->request, turn->agent->wire,
                                   &error)) {
        ask(turn);
    } else if (error.retryable && turn->attempt < RETRY_MAX &&
               error.retry_after_ms <= HINT_MAX_MS) {
        try_again(turn, &error);
    } else {
        keep_carried(turn);
        give_up(turn, &error);
    }
}

static void on_incomplete(ik_turn_t *turn, ik_stream_t *stream, size_t sent)
{
    if (!ik_stream_is_visible(stream)) {
        stream->error = (ik_provider_error_t){.fault = IK_FAULT_NETWORK,
                                              .code = "incomplete",
                                              .message = "the stream ended before the answer began",
                                              .retryable = true,
                                              .retry_after_ms = -1};
        on_failure(turn, stream, sent);
        return;
    }
    append_step(turn, stream);
    end_with_error(turn, "incomplete",
                   stream->item_count > 0
                       ? "the answer was cut off; the part received is kept"
                       : "the answer was cut off while the model was still thinking");
}

/* --- handling answers -------------------------------------------------------------------- */

/* Asks once more, unless text was shown already, which would then appear twice. */
static void on_bad_call(ik_turn_t *turn, const ik_stream_t *stream)
{
    if (!turn->asked_again && !ik_stream_is_visible(stream)) {
        turn->asked_again = true;
        ask(turn);
        return;
    }
    append_step(turn, stream);
    end_with_error(turn, "bad_tool_call", "the model's tool call could not be parsed");
}

/* Adds the text of this part to that of the earlier parts of a continued answer. */
static void carry_text(ik_turn_t *turn, const ik_stream_t *stream)
{
    ik_buffer_t text;
    ik_buffer_init(&text, turn, IK_BUFFER_UNLIMITED); /* at most RESUME_MAX answers */
    ik_buffer_append_text(&text, turn->carried == NULL ? "" : turn->carried);
    for (size_t i = 0; i < stream->item_count; i++) {
        if (stream->items[i]->call == NULL) {
            ik_buffer_append(&text, stream->items[i]->text.data, stream->items[i]->text.len);
        }
    }
    talloc_free(turn->carried);
    turn->carried = ik_buffer_finish(&text);
}

static void continue_answer(ik_turn_t *turn, ik_stream_t *stream)
{
    if (++turn->resumes > RESUME_MAX) {
        append_step(turn, stream);
        end_with_error(turn, "resume", "the answer was continued too many times");
        return;
    }
    if (stream->continuation == NULL) {
        append_step(turn, stream); /* the model continues from its own answer */
    } else {
        carry_text(turn, stream);
        turn->continuation = ik_strdup(turn, stream->continuation);
    }
    ask(turn);
}

static bool is_empty(const ik_stream_t *stream)
{
    return stream->item_count == 0 && stream->reasoning.len == 0 && stream->usage.out <= 0;
}

/* Adds the provider's explanation, if it gave one. */
static const char *explain(const ik_turn_t *turn, const char *what, const ik_stream_t *stream)
{
    return stream->stop_detail == NULL ? what
                                       : ik_sprintf(turn, "%s (%s)", what, stream->stop_detail);
}

/* A hook sends the model back to work: its reason is the next message. */
static void go_on(ik_turn_t *turn, const ik_hook_outcome_t *outcome)
{
    ik_buffer_t data;
    ik_buffer_init(&data, turn, IK_BUFFER_UNLIMITED); /* the name of a file */
    ik_json_add_text(&data, "hook", outcome->hook);
    ik_buffer_append_byte(&data, '}');
    ik_msg_t *message = ik_msg_create(turn, IK_MSG_USER, outcome->reason, data.data);
    turn->sent_back++;
    ik_agent_append(turn->agent, ik_msg_create_steering(NULL, message), IK_STORE_FULL);
    talloc_free(message);
    ik_buffer_reset(&data);
    ask(turn);
}

static void on_end_hooks(void *data, const ik_hook_outcome_t *outcome)
{
    ik_turn_t *turn = data;
    bool wants = outcome->decision == IK_HOOK_DENY && !outcome->stops;
    turn->hooks = NULL;
    if (wants && turn->sent_back < GO_ON_MAX && !turn->last_word) {
        go_on(turn, outcome);
    } else {
        if (wants) {
            const char *why =
                turn->last_word ? "the limit of tool turns is reached"
                                : ik_sprintf(turn, "it was continued %d times already", GO_ON_MAX);
            notice(turn,
                   ik_sprintf(turn, "The turn ends although the hook %s wants it to go on: %s",
                              outcome->hook, why));
        }
        end_turn(turn, turn->last_word ? IK_TURN_LIMIT : IK_TURN_END);
    }
    leave(turn);
}

/* The model is done, unless a hook disagrees. */
static void end_or_go_on(ik_turn_t *turn)
{
    ik_agent_t *agent = turn->agent;
    if (!ik_hooks_any(agent->shared->hooks, IK_HOOK_TURN_END, NULL)) {
        end_turn(turn, turn->last_word ? IK_TURN_LIMIT : IK_TURN_END);
        return;
    }
    turn->hooks = ik_hooks_start(turn, agent->shared->hooks,
                                 &(ik_hook_occasion_t){.event = IK_HOOK_TURN_END,
                                                       .agent = agent->number,
                                                       .stop_hook_active = turn->sent_back > 0},
                                 on_end_hooks, turn);
}

/* An answer without calls ends the turn. */
static void finish(ik_turn_t *turn, ik_stream_t *stream)
{
    append_step(turn, stream);
    switch (stream->stop) {
    case IK_STOP_FILTERED:
        end_with_error(turn, "filtered",
                       explain(turn,
                               stream->prompt_blocked ? "the provider's filter blocked the prompt"
                                                      : "the provider's filter blocked the answer",
                               stream));
        return;
    case IK_STOP_CUT:
        notice(turn, explain(turn, "The provider cut the answer", stream));
        break;
    case IK_STOP_MAX_TOKENS:
        notice(turn, "The answer was cut at the output limit (max_output_tokens).");
        break;
    case IK_STOP_CONTEXT_FULL:
        notice(turn, "The answer was cut: the context window is full.");
        break;
    case IK_STOP_REFUSAL:
        notice(turn, "The model refused.");
        break;
    default:
        break;
    }
    end_or_go_on(turn);
}

/* Stores the answer with its calls as hooks left them, and runs the calls. */
static void store_and_run(ik_turn_t *turn, ik_stream_t *stream)
{
    turn->calls_open = true;
    append_step(turn, stream);
    run_calls(turn, ik_stream_call_count(stream));
}

static void on_reviewed(void *data)
{
    ik_turn_t *turn = data;
    ik_stream_t *answer = turn->answer;
    turn->answer = NULL;
    turn->interrupted = turn->interrupted || ik_call_review_stops(turn->review);
    store_and_run(turn, answer);
    talloc_free(answer);
}

/* Hooks see the calls before they are stored, because they may change their arguments. */
static void review_calls(ik_turn_t *turn, ik_stream_t *stream)
{
    ik_agent_t *agent = turn->agent;
    turn->review =
        ik_call_review_start(turn, &(ik_call_review_options_t){.shared = agent->shared,
                                                               .registry = turn->registry,
                                                               .agent = agent->number,
                                                               .stream = stream,
                                                               .on_end = on_reviewed,
                                                               .data = turn});
    if (turn->review == NULL) {
        store_and_run(turn, stream);
    } else {
        turn->answer = talloc_steal(turn, stream);
    }
}

static void on_complete(ik_turn_t *turn, ik_stream_t *stream, size_t sent)
{
    static const ik_provider_error_t full = {.fault = IK_FAULT_OVERFLOW,
                                             .code = "context_full",
                                             .message = "the context window is full",
                                             .retry_after_ms = -1};
    size_t calls = turn->last_word ? 0 : ik_stream_call_count(stream);
    turn->attempt = 0;
    ik_compactor_accept_answer(turn->compactor);
    if (calls > 0) {
        review_calls(turn, stream);
    } else if (stream->stop == IK_STOP_BAD_TOOL_CALL) {
        on_bad_call(turn, stream);
    } else if (stream->stop == IK_STOP_RESUME) {
        continue_answer(turn, stream);
    } else if (stream->stop == IK_STOP_CONTEXT_FULL && stream->item_count == 0 &&
               shorten(turn, &full, sent)) {
        return;
    } else if (is_empty(stream) && stream->stop == IK_STOP_END && turn->carried == NULL) {
        end_with_error(turn, "empty_response",
                       "the model's answer is empty; a local server may need a larger context");
    } else {
        finish(turn, stream);
    }
}

static void on_answer(void *data, ik_stream_t *stream)
{
    ik_turn_t *turn = data;
    ik_exchange_t *exchange = turn->exchange;
    size_t sent = ik_exchange_sent(exchange);
    turn->exchange = NULL;
    emit_usage(turn, stream);
    if (stream->usage.in > 0 && sent > 0) {
        turn->agent->tokens_per_byte = (double)stream->usage.in / (double)sent;
    }
    switch (stream->stop) {
    case IK_STOP_ERROR:
        on_failure(turn, stream, sent);
        break;
    case IK_STOP_INCOMPLETE:
        on_incomplete(turn, stream, sent);
        break;
    default:
        on_complete(turn, stream, sent);
    }
    talloc_free(exchange);
    leave(turn);
}

/* --- requests ---------------------------------------------------------------------------- */

static void on_text(void *data, const char *text, size_t len)
{
    ik_turn_t *turn = data;
    size_t item = ik_exchange_stream(turn->exchange)->item_count;
    ik_agent_emit(turn->agent, &(ik_agent_event_t){.kind = IK_AGENT_TEXT,
                                                   .text = text,
                                                   .len = len,
                                                   .begins = item != turn->text_item});
    turn->text_item = item;
}

static void on_reasoning(void *data, const char *text, size_t len)
{
    emit_text(data, IK_AGENT_REASONING, text, len);
}

/* What the call needs is prepared while the model still writes it. */
static void on_call(void *data, const char *name)
{
    const ik_turn_t *turn = data;
    const ik_call_gate_t *gate = turn->agent->shared->gate;
    const ik_tool_registry_entry_t *entry =
        turn->registry == NULL ? NULL : ik_tool_registry_lookup(turn->registry, name);
    const ik_checkpoints_t *checkpoints = turn->agent->shared->checkpoints;
    if (entry == NULL) {
        return;
    }
    bool may_write = gate->expect == NULL || gate->expect(gate->gate, turn->agent->number, entry);
    if (may_write && checkpoints != NULL) {
        checkpoints->expect(checkpoints->checkpoints, turn->agent->number, entry);
    }
}

static bool has_id(void *data, const char *id)
{
    const ik_turn_t *turn = data;
    return ik_id_set_has(turn->agent->call_ids, id);
}

/* Wraps the `returns` schema of each tool in that of the envelope, once per registry. */
static void prepare_returns(ik_agent_t *agent, const ik_tool_registry_t *registry)
{
    talloc_free(agent->returns);
    agent->returns = ik_new_array(agent, json_t *, registry->count + 1);
    for (size_t i = 0; i < registry->count; i++) {
        json_t *returns = registry->entries[i]->schema->returns;
        if (returns != NULL) {
            agent->returns[i] = ik_json_adopt(agent->returns, ik_tool_wrap_returns(returns));
        }
    }
}

static void prepare_wire(ik_turn_t *turn)
{
    ik_agent_t *agent = turn->agent;
    if (agent->wire != NULL && agent->wire_registry == turn->registry) {
        return;
    }
    talloc_free(agent->wire);
    agent->wire = ik_wire_create(agent);
    agent->wire_registry = turn->registry;
    if (turn->registry != NULL) {
        prepare_returns(agent, turn->registry);
    }
}

/* Before a request that does not continue an answer, which only its own model can do, another model
 * may take over. Text of the user for this turn joins the tool results. */
static void take_changes(ik_turn_t *turn)
{
    ik_agent_t *agent = turn->agent;
    const ik_msg_t *last = find_last(agent->conversation);
    ik_msg_t *message;
    if (turn->carried != NULL ||
        (!ik_msg_is(last, IK_MSG_USER) && !ik_msg_is(last, IK_MSG_TOOL_RESULT))) {
        return;
    }
    if (ik_agent_use_next_target(agent)) {
        turn->attempt = 0;
        ik_compactor_start_over(turn->compactor);
    }
    while (turn->tool_turns > 0 && agent->steering != NULL &&
           (message = agent->steering(agent->data, turn)) != NULL) {
        ik_agent_append(agent, ik_msg_create_steering(NULL, message), IK_STORE_FULL);
        talloc_free(message);
    }
}

/* Builds the request that is due. */
static void build_request(ik_turn_t *turn)
{
    ik_agent_context(turn->agent); /* a new summary makes the wire invalid */
    prepare_wire(turn);
    talloc_free(turn->request);
    ik_request_build_from_conversation(turn, turn->agent, turn->registry, &turn->request);
    turn->request->forbid_tools = turn->last_word;
    turn->request->continuation = turn->continuation;
}

static void ask(ik_turn_t *turn)
{
    ik_compactor_outcome_t outcome = IK_COMPACTOR_CHANGED;
    take_changes(turn);
    while (outcome == IK_COMPACTOR_CHANGED) {
        build_request(turn);
        outcome = may_compact(turn) ? ik_compactor_prepare(turn->compactor, turn->request)
                                    : IK_COMPACTOR_NONE;
    }
    if (outcome == IK_COMPACTOR_ASKS) {
        turn->overflow.fault = IK_FAULT_NONE;
        return;
    }
    turn->text_item = turn->carried == NULL ? 0 : 1; /* a continuation starts no new message */
    ik_exchange_options_t options = {
        .shared = turn->agent->shared,
        .request = turn->request,
        .wire = turn->agent->wire,
        .listener = {.on_text = on_text,
                     .on_reasoning = on_reasoning,
                     .on_call = on_call,
                     .has_id = has_id,
                     .data = turn},
        .on_end = on_answer,
        .data = turn,
    };
    turn->exchange = ik_exchange_start(turn, &options);
}

static void on_compacted(void *data, bool changed)
{
    ik_turn_t *turn = data;
    if (turn->only_compacts) {
        end_turn(turn, IK_TURN_END);
    } else if (!changed && turn->overflow.fault != IK_FAULT_NONE) {
        give_up(turn, &turn->overflow);
    } else {
        ask(turn);
    }
    leave(turn);
}

/* The tools of the agent; NULL: none. */
static const ik_tool_registry_t *find_tools(ik_agent_t *agent)
{
    const ik_tool_registry_t *all = agent->without_tools ? NULL : agent->shared->tool_registry;
    if (all == NULL || agent->conversation->tools == NULL) {
        return all;
    }
    if (agent->selected_from != all) {
        ik_agent_forget_tools(agent);
        agent->selected = ik_tool_registry_select(agent, all, agent->conversation->tools);
        agent->selected_from = all;
    }
    return agent->selected;
}

static ik_turn_t *create(ik_agent_t *agent)
{
    ik_turn_t *turn = ik_new(agent, ik_turn_t);
    turn->agent = agent;
    turn->registry = find_tools(agent);
    turn->wait = ik_timer_create(turn, agent->shared->loop, on_wait_over, turn);
    turn->compactor = ik_compactor_create(turn, agent, on_compacted, turn);
    return turn;
}

void ik_turn_start(ik_agent_t *agent)
{
    agent->turn = create(agent);
    ask(agent->turn);
}

bool ik_turn_start_compaction(ik_agent_t *agent, const char *focus)
{
    ik_turn_t *turn = create(agent);
    turn->only_compacts = true;
    agent->turn = turn;
    build_request(turn);
    ik_compactor_outcome_t outcome = ik_compactor_compact(turn->compactor, turn->request, focus);
    if (outcome != IK_COMPACTOR_ASKS) {
        agent->turn = NULL;
        talloc_free(turn);
    }
    return outcome != IK_COMPACTOR_NONE;
}

void ik_turn_stop_waiting(ik_turn_t *turn)
{
    if (turn->waiting) {
        ik_timer_start(turn->wait, 0);
        notice(turn, ik_sprintf(turn, "Trying again with %s.", turn->agent->next_target->name));
    }
}

void ik_turn_find_complete(const ik_turn_t *turn, size_t *messages, int64_t *seq)
{
    if (turn->calls_open) {
        *messages = turn->step_at;
        *seq = turn->step_seq;
    }
}

int64_t ik_turn_silent_ms(const ik_turn_t *turn)
{
    return turn->exchange == NULL ? ik_compactor_silent_ms(turn->compactor)
                                  : ik_exchange_silent_ms(turn->exchange);
}

/* --- interrupting ------------------------------------------------------------------------ */

/* Keeps the part of the answer that was received, without its calls. */
static void keep_partial_answer(ik_turn_t *turn)
{
    ik_stream_t *stream = ik_exchange_stream(turn->exchange);
    stream->terminal = false;
    ik_stream_finish(stream, false);
    if (ik_stream_is_visible(stream)) {
        append_step(turn, stream);
    }
    TALLOC_FREE(turn->exchange);
}

bool ik_turn_is_interrupted(const ik_turn_t *turn)
{
    return turn->interrupted;
}

void ik_turn_interrupt(ik_turn_t *turn)
{
    if (turn->interrupted) {
        return;
    }
    turn->interrupted = true;
    if (turn->answer != NULL) { /* its calls get INTERRUPTED */
        TALLOC_FREE(turn->review);
        ik_stream_t *answer = turn->answer;
        turn->answer = NULL;
        store_and_run(turn, answer);
        talloc_free(answer);
        return;
    }
    TALLOC_FREE(turn->hooks);
    if (turn->batch != NULL) {
        ik_call_batch_interrupt(turn->batch); /* on_tools_end ends the turn */
        return;
    }
    if (turn->exchange != NULL) {
        keep_partial_answer(turn);
    }
    keep_carried(turn);
    end_turn(turn, IK_TURN_INTERRUPTED);
    leave(turn);
}

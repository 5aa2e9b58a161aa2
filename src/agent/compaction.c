#include "agent/compaction.h"

#include <string.h>

#include "base/alloc.h"

/* --- trimming ---------------------------------------------------------------------------- */

/* Bytes saved by trimming a result; 0 for one that is no longer than the marker. */
static size_t savings(const ik_msg_t *result)
{
    ik_json_span_t output;
    size_t marker = strlen(ik_conversation_trimmed_envelope);
    if (!ik_msg_field(result, "output", &output) || output.len <= marker) {
        return 0;
    }
    return output.len - marker;
}

/* The number of results before those that answer the last step. */
static size_t count_older_results(const ik_conversation_t *conversation)
{
    size_t results = 0;
    size_t older = 0;
    for (size_t i = 0; i < conversation->count; i++) {
        const ik_msg_t *message = conversation->messages[i];
        results += ik_msg_is(message, IK_MSG_TOOL_RESULT);
        if (ik_msg_is(message, IK_MSG_TOOL_CALL) || ik_msg_is(message, IK_MSG_ASSISTANT)) {
            older = results;
        }
    }
    return older;
}

/* Counts results up to limit until trimming them saves enough bytes. */
static size_t trim(const ik_conversation_t *conversation, size_t trimmed, size_t limit,
                   size_t bytes, size_t *saved)
{
    size_t results = 0;
    size_t useful = trimmed; /* excludes trailing results whose trimming saves nothing */
    for (size_t i = 0; i < conversation->count && *saved < bytes; i++) {
        const ik_msg_t *message = conversation->messages[i];
        if (!ik_msg_is(message, IK_MSG_TOOL_RESULT) || ++results <= trimmed) {
            continue;
        }
        if (results > limit) {
            break;
        }
        size_t gain = savings(message);
        *saved += gain;
        useful = gain > 0 ? results : useful;
    }
    return useful;
}

size_t ik_compaction_plan(const ik_conversation_t *conversation, size_t trimmed_now, size_t bytes)
{
    size_t saved = 0;
    size_t wanted = bytes == 0 ? 1 : bytes;
    size_t trimmed =
        trim(conversation, trimmed_now, count_older_results(conversation), wanted, &saved);
    if (trimmed == trimmed_now) {
        trimmed = trim(conversation, trimmed_now, SIZE_MAX, wanted, &saved);
    }
    return trimmed;
}

size_t ik_compaction_plan_older(const ik_conversation_t *conversation, size_t trimmed_now,
                                size_t bytes)
{
    size_t saved = 0;
    return trim(conversation, trimmed_now, count_older_results(conversation), bytes, &saved);
}

size_t ik_compaction_plan_all(const ik_conversation_t *conversation, size_t trimmed_now)
{
    size_t saved = 0;
    return trim(conversation, trimmed_now, count_older_results(conversation), SIZE_MAX, &saved);
}

/* --- summaries --------------------------------------------------------------------------- */

enum {
    KEPT_PART = 4, /* of the context, and of the window: the last steps that are kept */
    LAST_PART = 2, /* of the context: the last step alone */
    WORDS_LEAST = 4096,
};

/* The beginning of the step that ends before index, with what the user said right before it. It is
 * not before context->from; index when there is no step. */
static size_t find_step(const ik_context_t *context, size_t index)
{
    const ik_conversation_t *conversation = context->conversation;
    size_t at = index;
    while (at > context->from && ik_msg_side(conversation->messages[at - 1]) != IK_MSG_MODEL_SIDE) {
        at--;
    }
    if (at == context->from) {
        return index;
    }
    do {
        at--;
    } while (at > context->from && !ik_context_may_begin(conversation, at));
    while (at > context->from && !ik_msg_is(conversation->messages[at - 1], IK_MSG_TOOL_RESULT) &&
           ik_msg_side(conversation->messages[at - 1]) != IK_MSG_MODEL_SIDE) {
        at--;
    }
    return at;
}

/* The index after the last step: only messages of the user follow. */
static size_t find_end(const ik_context_t *context)
{
    size_t end = context->conversation->count;
    while (end > context->from &&
           ik_msg_side(context->conversation->messages[end - 1]) != IK_MSG_MODEL_SIDE &&
           !ik_msg_is(context->conversation->messages[end - 1], IK_MSG_TOOL_RESULT)) {
        end--;
    }
    return end;
}

static size_t count_results(const ik_conversation_t *conversation, size_t end)
{
    size_t results = 0;
    for (size_t i = 0; i < end; i++) {
        results += ik_msg_is(conversation->messages[i], IK_MSG_TOOL_RESULT);
    }
    return results;
}

/* Whether a summary of the messages up to index would stand for anything but the user's words and
 * the last summary. */
static bool has_text(const ik_context_t *context, size_t index)
{
    for (size_t i = context->from; i < index; i++) {
        const ik_msg_t *message = context->conversation->messages[i];
        if (ik_msg_side(message) == IK_MSG_MODEL_SIDE || ik_msg_is(message, IK_MSG_TOOL_RESULT) ||
            ik_msg_is_shell_note(message)) {
            return true;
        }
    }
    return false;
}

/* Where what is kept begins. */
static size_t choose_index(const ik_context_t *context, size_t room, ik_compaction_keep_t keep)
{
    const ik_conversation_t *conversation = context->conversation;
    size_t trimmed = ik_conversation_trimmed_results(conversation);
    size_t total = ik_context_size(context);
    size_t end = find_end(context);
    size_t results = count_results(conversation, end);
    size_t kept = 0;
    size_t index = end;
    size_t begin;
    while ((begin = find_step(context, index)) < index) {
        /* the last step, if it ends with results, has no answer yet */
        bool needed =
            index == end && ik_msg_is(conversation->messages[end - 1], IK_MSG_TOOL_RESULT);
        size_t most = total / (index == end ? LAST_PART : KEPT_PART);
        most = room > 0 && room / KEPT_PART < most ? room / KEPT_PART : most;
        for (size_t i = index; i > begin; i--) {
            const ik_msg_t *message = conversation->messages[i - 1];
            bool result = ik_msg_is(message, IK_MSG_TOOL_RESULT);
            kept += ik_context_size_of(message, result && results <= trimmed);
            results -= result;
        }
        if (!needed && (keep == IK_COMPACTION_LEAST || kept > most || !has_text(context, begin))) {
            break;
        }
        index = begin;
    }
    return index;
}

bool ik_compaction_plan_summary(const ik_context_t *context, size_t room, ik_compaction_keep_t keep,
                                ik_compaction_summary_t *plan)
{
    const ik_conversation_t *conversation = context->conversation;
    *plan = (ik_compaction_summary_t){.index = choose_index(context, room, keep)};
    for (size_t i = 0; i < plan->index; i++) {
        plan->covers += ik_msg_side(conversation->messages[i]) != IK_MSG_NEITHER;
    }
    plan->words_limit = keep == IK_COMPACTION_LEAST ? WORDS_LEAST : IK_CONTEXT_WORDS_MAX;
    ik_msg_summary_t empty = {
        .reason = "", .summary = ".", .covers = plan->covers, .words_limit = plan->words_limit};
    ik_msg_t *message = ik_msg_create_summary(NULL, &empty);
    ik_context_t *preview = ik_context_preview(message, conversation, message);
    size_t before = ik_context_size(context);
    size_t after = ik_context_size(preview) -
                   ik_context_size_of(preview->sent->messages[preview->at - 1], false);
    plan->gain = before > after ? before - after : 0;
    talloc_free(message);
    return has_text(context, plan->index);
}

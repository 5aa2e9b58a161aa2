#include "agent/compaction.h"

#include <string.h>

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

size_t ik_compaction_plan_all(const ik_conversation_t *conversation, size_t trimmed_now)
{
    size_t saved = 0;
    return trim(conversation, trimmed_now, count_older_results(conversation), SIZE_MAX, &saved);
}

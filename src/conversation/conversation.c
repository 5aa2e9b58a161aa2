#include "conversation/conversation.h"

#include "base/alloc.h"

const char ik_conversation_trimmed_envelope[] =
    "{\"tool_success\":true,\"result\":{\"removed\":\"This result was removed to fit the context. "
    "Run the tool again if it is needed.\"}}";

ik_conversation_t *ik_conversation_create(const void *ctx)
{
    return ik_new(ctx, ik_conversation_t);
}

void ik_conversation_append(ik_conversation_t *conversation, ik_msg_t *message)
{
    if (conversation->count == conversation->capacity) {
        conversation->capacity = conversation->capacity == 0 ? 16 : 2 * conversation->capacity;
        conversation->messages = ik_resize_array(conversation, conversation->messages, ik_msg_t *,
                                                 conversation->capacity);
    }
    conversation->messages[conversation->count++] = talloc_steal(conversation, message);
}

/* Returns the last message of that kind, or NULL. */
static const ik_msg_t *find_last(const ik_conversation_t *conversation, const char *kind)
{
    for (size_t i = conversation->count; i > 0; i--) {
        if (ik_msg_is(conversation->messages[i - 1], kind)) {
            return conversation->messages[i - 1];
        }
    }
    return NULL;
}

const char *ik_conversation_system(const ik_conversation_t *conversation)
{
    const ik_msg_t *system = find_last(conversation, IK_MSG_SYSTEM);
    return system == NULL ? NULL : system->content;
}

size_t ik_conversation_trimmed_results(const ik_conversation_t *conversation)
{
    const ik_msg_t *compaction = find_last(conversation, IK_MSG_COMPACTION);
    int64_t trimmed =
        compaction == NULL ? 0 : ik_msg_field_number(compaction, "trimmed_results", 0);
    return trimmed < 0 ? 0 : (size_t)trimmed;
}

static bool drops(const ik_msg_t *message, ik_msg_drop_t drop, const char *target)
{
    ik_json_span_t dropped;
    ik_json_span_t of;
    return ik_msg_is(message, IK_MSG_COMPACTION) && ik_msg_field(message, "dropped", &dropped) &&
           (ik_json_is_text(dropped, ik_msg_drop_name(drop)) ||
            ik_json_is_text(dropped, ik_msg_drop_name(IK_MSG_DROP_CALLS))) &&
           ik_msg_field(message, "target", &of) && ik_json_is_text(of, target);
}

size_t ik_conversation_dropped(const ik_conversation_t *conversation, ik_msg_drop_t drop,
                               const char *target)
{
    size_t count = conversation->count;
    while (count > 0 && !drops(conversation->messages[count - 1], drop, target)) {
        count--;
    }
    return count;
}

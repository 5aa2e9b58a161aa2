#include "conversation/conversation.h"

#include <string.h>

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
    ik_conversation_share(conversation, talloc_steal(conversation, message));
}

void ik_conversation_share(ik_conversation_t *conversation, ik_msg_t *message)
{
    if (conversation->count == conversation->capacity) {
        conversation->capacity = conversation->capacity == 0 ? 16 : 2 * conversation->capacity;
        conversation->messages = ik_resize_array(conversation, conversation->messages, ik_msg_t *,
                                                 conversation->capacity);
    }
    conversation->messages[conversation->count++] = message;
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
    for (size_t i = conversation->count; i > 0; i--) {
        const ik_msg_t *message = conversation->messages[i - 1];
        if (ik_msg_is(message, IK_MSG_COMPACTION) && !ik_msg_is_summary(message)) {
            int64_t trimmed = ik_msg_field_number(message, "trimmed_results", 0);
            return trimmed < 0 ? 0 : (size_t)trimmed;
        }
    }
    return 0;
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

size_t ik_conversation_refused_images(const void *ctx, const ik_conversation_t *conversation,
                                      const ik_blob_name_t **names)
{
    ik_blob_name_t *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < conversation->count; i++) {
        const ik_msg_t *message = conversation->messages[i];
        ik_json_span_t list;
        ik_json_span_t name;
        size_t position = 0;
        if (!ik_msg_is_image_drop(message)) {
            continue;
        }
        ik_msg_field(message, "images", &list);
        while (ik_json_next_element(list, &position, &name)) {
            if (ik_json_kind(name) == IK_JSON_STRING && name.len == IK_BLOB_NAME_LEN + 2) {
                found = ik_resize_array(ctx, found, ik_blob_name_t, count + 1);
                found[count] = (ik_blob_name_t){0};
                memcpy(found[count++].hex, name.text + 1, IK_BLOB_NAME_LEN);
            }
        }
    }
    *names = found;
    return count;
}

/*
 * The messages of one agent in order: append-only, plain data. A stored log may have been cut off
 * by a crash, or reordered or duplicated by an import; ik_conversation_take_repaired turns it into
 * a conversation that every provider accepts. The agent appends only messages that keep it so.
 */
#pragma once

#include <stddef.h>

#include "conversation/message.h"

typedef struct {
    ik_msg_t **messages;
    size_t count;
    size_t capacity;
    const char *mode;         /* that was set last (base/mode.h), as stored; NULL: none was */
    const char *const *tools; /* that the agent is limited to, NULL-terminated; NULL: no limit */
} ik_conversation_t;

ik_conversation_t *ik_conversation_create(const void *ctx);
/* Takes over the message. */
void ik_conversation_append(ik_conversation_t *conversation, ik_msg_t *message);
/* Adds a message that belongs to another conversation, which must live longer. */
void ik_conversation_share(ik_conversation_t *conversation, ik_msg_t *message);

/* Takes over a conversation and returns it, on ctx, repaired:
 *   - results follow their step, in the order of its calls, and repeat id, name and provider of
 *     the call; a missing result becomes INTERRUPTED, a surplus one is dropped;
 *   - ids are unique and not empty, and names are valid tool names;
 *   - the first message besides system is the user's;
 *   - data that is not a JSON object, empty answers, unknown kinds and turns refused by a
 *     provider are dropped; invalid characters in data become U+FFFD;
 *   - no two steps have the same private data.
 * Messages that need no repair are kept, not copied. A wire made from the old conversation is no
 * longer valid. */
ik_conversation_t *ik_conversation_take_repaired(const void *ctx, ik_conversation_t *stored);

/* The text of the last system message, or NULL. */
const char *ik_conversation_system(const ik_conversation_t *conversation);
/* The number of tool results, from the first, that are sent as a marker. */
size_t ik_conversation_trimmed_results(const ik_conversation_t *conversation);
/* The number of messages, from the first, that are sent to target without reasoning or calls: all
 * before the last compaction that says so. Calls are dropped together with their reasoning. */
size_t ik_conversation_dropped(const ik_conversation_t *conversation, ik_msg_drop_t drop,
                               const char *target);
/* The images that a provider refused, on ctx: markers are sent in their place. Returns their
 * number.
 */
size_t ik_conversation_refused_images(const void *ctx, const ik_conversation_t *conversation,
                                      const ik_blob_name_t **names);
/* The marker: the envelope that is sent instead of a trimmed result. */
extern const char ik_conversation_trimmed_envelope[];

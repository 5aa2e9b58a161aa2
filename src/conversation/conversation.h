/*
 * The messages of one agent in order: append-only, plain data. What is stored may have been cut off
 * by a crash, reordered or doubled by an import; ik_conversation_take_repaired makes of it what
 * every provider accepts, and the agent appends to a repaired one only what keeps it so.
 */
#pragma once

#include <stddef.h>

#include "conversation/message.h"

typedef struct {
    ik_msg_t **messages;
    size_t count;
    size_t capacity;
} ik_conversation_t;

ik_conversation_t *ik_conversation_create(const void *ctx);
/* Takes the message over. */
void ik_conversation_append(ik_conversation_t *conversation, ik_msg_t *message);

/* Takes a conversation over and makes of it, on ctx, one in which
 *   - every call is followed by its result, right behind the step, in the order of the calls, and
 *     the result repeats the call's id, name and provider; a missing one is INTERRUPTED, one too
 *     many is gone;
 *   - ids are unique and not empty, names can be tool names;
 *   - the first message apart from system is the user's;
 *   - data that is no JSON object, empty answers, unknown kinds and the turns a provider refused
 *     are gone; what is no character in data is U+FFFD;
 *   - no two steps have the same private data.
 * Messages that need no repair are the same, not copies; what was made of the old conversation (a
 * wire) does not fit any more. */
ik_conversation_t *ik_conversation_take_repaired(const void *ctx, ik_conversation_t *stored);

/* The text of the last system message, or NULL. */
const char *ik_conversation_system(const ik_conversation_t *conversation);
/* How many tool results, from the first, are sent as a marker since the last compaction. */
size_t ik_conversation_trimmed_results(const ik_conversation_t *conversation);
/* How many messages, from the first, are sent to target without that: all before the last
 * compaction that says so. Calls are dropped together with their reasoning. */
size_t ik_conversation_dropped(const ik_conversation_t *conversation, ik_msg_drop_t drop,
                               const char *target);
/* What a trimmed result is sent as: an envelope. */
extern const char ik_conversation_trimmed_envelope[];

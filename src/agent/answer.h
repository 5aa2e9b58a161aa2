/* What an answer becomes in the conversation: a step, its texts and calls as messages in order. */
#pragma once

#include "conversation/conversation.h"
#include "provider/stream.h"

typedef struct {
    /* The text of an answer in several pieces, as far as it came before; NULL: it came in one. */
    const char *carried;
    bool without_calls; /* it was to make none */
} ik_answer_options_t;

/* The messages of a finished stream, in a conversation of their own on ctx: none when there is
 * nothing to read and nothing that the provider wants back. */
ik_conversation_t *ik_answer_to_messages(const void *ctx, const ik_stream_t *stream,
                                         const ik_answer_options_t *options);

/* Converts a model's answer to the messages of one step: its texts and calls, in order. */
#pragma once

#include "conversation/conversation.h"
#include "provider/stream.h"

typedef struct {
    const char *carried; /* text of earlier parts of a continued answer; NULL: none */
    bool without_calls;  /* drop calls: the request forbade them */
    int64_t prefix;      /* of the request (ik_wire_t) */
} ik_answer_options_t;

/* Returns the messages of a finished stream as a new conversation on ctx. It is empty if the answer
 * has neither text, calls, nor provider data that must be sent back. */
ik_conversation_t *ik_answer_to_messages(const void *ctx, const ik_stream_t *stream,
                                         const ik_answer_options_t *options);

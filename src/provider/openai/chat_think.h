/*
 * Separates thinking from the answer where a server leaves both in the text, as local servers do:
 * <think>…</think>, then the answer. The tags may be spread over pieces. Only a tag at the very
 * beginning is recognised; any other is text.
 */
#pragma once

#include "provider/stream.h"

typedef struct ik_chat_think ik_chat_think_t;

ik_chat_think_t *ik_chat_think_create(ik_stream_t *stream);
/* Adds a piece of text, given as a string literal. */
void ik_chat_think_add(ik_chat_think_t *think, ik_json_span_t literal);
/* Releases what was held back: call it when something other than text follows, and at the end. */
void ik_chat_think_flush(ik_chat_think_t *think);

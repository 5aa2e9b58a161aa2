/*
 * Local servers without a parser for it deliver a model's thinking inside the text:
 * <think>…</think>, then the answer. This tells the two apart, wherever the tags are cut. Only a
 * tag that is the very first thing counts; any other is text.
 */
#pragma once

#include "provider/stream.h"

typedef struct ik_chat_think ik_chat_think_t;

ik_chat_think_t *ik_chat_think_create(ik_stream_t *stream);
/* A piece of text, as the string literal it came as. */
void ik_chat_think_add(ik_chat_think_t *think, ik_json_span_t literal);
/* Something other than text follows, or nothing: what was held back is let go. */
void ik_chat_think_flush(ik_chat_think_t *think);

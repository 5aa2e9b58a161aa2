/*
 * Assembles the tool calls of a Chat Completions stream from fragments. Servers differ in how a
 * fragment names its call: by index, by id, by both, or not at all. chat_calls.c has the rules.
 */
#pragma once

#include "provider/stream.h"

enum { IK_CHAT_CALLS_MAX = 1024 }; /* of one answer */

typedef struct ik_chat_calls ik_chat_calls_t;

ik_chat_calls_t *ik_chat_calls_create(ik_stream_t *stream);
/* Adds an element of tool_calls: a call or a fragment of one. */
void ik_chat_calls_add(ik_chat_calls_t *calls, ik_json_span_t fragment);
/* Adds a function_call, the older form for a single call. */
void ik_chat_calls_add_legacy(ik_chat_calls_t *calls, ik_json_span_t function);

/* Appends an array with the extra_content (or null) of each call. False, with nothing appended,
 * when no call has any. Call it from stream_end: calls that must not run are gone by then. */
bool ik_chat_calls_append_extra(const ik_chat_calls_t *calls, ik_buffer_t *out);

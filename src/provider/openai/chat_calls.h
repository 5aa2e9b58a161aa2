/*
 * The tool calls of a Chat Completions stream. Servers disagree on how a fragment says to which
 * call it belongs: by index, by id, by both, or by nothing at all. chat_calls.c holds the rules.
 */
#pragma once

#include "provider/stream.h"

enum { IK_CHAT_CALLS_MAX = 1024 }; /* of one answer; more is a server gone mad */

typedef struct ik_chat_calls ik_chat_calls_t;

ik_chat_calls_t *ik_chat_calls_create(ik_stream_t *stream);
/* An element of tool_calls: a call, or a piece of one. */
void ik_chat_calls_add(ik_chat_calls_t *calls, ik_json_span_t fragment);
/* The function_call from before there were several. */
void ik_chat_calls_add_legacy(ik_chat_calls_t *calls, ik_json_span_t function);

/* After the calls that must not run were dropped: appends an array with the extra_content (or null)
 * of each call that is left. False, with nothing appended, when none has any. */
bool ik_chat_calls_append_extra(const ik_chat_calls_t *calls, ik_buffer_t *out);

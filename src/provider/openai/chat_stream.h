/*
 * The stream of Chat Completions: chunks with a delta each. What a step keeps for its provider:
 *
 *   {"reasoning_content":"…","reasoning_details":[…],"extra_content":[{…},null]}
 *
 * as far as it came; extra_content has one element per call.
 */
#pragma once

#include "provider/stream.h"

void *ik_chat_stream_begin(ik_stream_t *stream);
void ik_chat_stream_event(ik_stream_t *stream, ik_json_span_t data);
void ik_chat_stream_end(ik_stream_t *stream);

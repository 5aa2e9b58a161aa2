/*
 * Streams of the Chat Completions API: chunks with a delta each. The private data of a step:
 *
 *   {"reasoning_content":"…","reasoning_details":[…],"extra_content":[{…},null]}
 *
 * with the members that came; extra_content has one element per call.
 */
#pragma once

#include "provider/stream.h"

void *ik_chat_stream_begin(ik_stream_t *stream);
void ik_chat_stream_event(ik_stream_t *stream, ik_json_span_t data);
void ik_chat_stream_end(ik_stream_t *stream);

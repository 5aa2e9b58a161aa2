/*
 * Streams of OpenAI's Responses API: typed events about output items. The private data of a step is
 * the array of its final items.
 */
#pragma once

#include "provider/stream.h"

void *ik_responses_stream_begin(ik_stream_t *stream);
void ik_responses_stream_event(ik_stream_t *stream, ik_json_span_t data);
void ik_responses_stream_end(ik_stream_t *stream);

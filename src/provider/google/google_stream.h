/*
 * Streams of Gemini's generateContent. Every event is a piece of the answer in the form of a whole
 * response, so an answer that is not streamed or comes as one array is read by the same code.
 *
 * The private data of a step is the list of its parts, because a thoughtSignature must stay on the
 * part it came with; text parts to which nothing is attached are joined. A part with a functionCall
 * is a placeholder: its name, arguments and id are those of the step's call, so that they are
 * stored only once. An answer to which nothing is attached has no private data.
 */
#pragma once

#include "provider/stream.h"

void *ik_google_stream_begin(ik_stream_t *stream);
void ik_google_stream_event(ik_stream_t *stream, ik_json_span_t data);
void ik_google_stream_end(ik_stream_t *stream);

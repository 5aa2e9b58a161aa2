/*
 * The stream of Gemini's generateContent: every event is a piece of the answer in the form of a
 * whole response, so an answer that was not streamed, or came as one array, is read the same way.
 *
 * What goes back with a step is the list of its parts as they came, text joined where nothing is
 * attached to it, because a thoughtSignature must stay on the very part it came with. A part with a
 * functionCall is only a place: name, arguments and id are those of the step's call, so that they
 * are stored once. An answer to which nothing was attached needs no such list.
 */
#pragma once

#include "provider/stream.h"

void *ik_google_stream_begin(ik_stream_t *stream);
void ik_google_stream_event(ik_stream_t *stream, ik_json_span_t data);
void ik_google_stream_end(ik_stream_t *stream);

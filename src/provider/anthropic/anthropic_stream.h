/*
 * The stream of Anthropic's Messages: content blocks that are opened, grow by deltas and are
 * closed. A message that came as a whole is read as if all its blocks had just been opened.
 *
 * What goes back with a step is the list of its blocks as they came. A tool_use block in it is only
 * a place: its id, name and input are those of the step's call, so that a large input is stored
 * once. An answer of nothing but text and calls needs no such list.
 */
#pragma once

#include "provider/stream.h"

void *ik_anthropic_stream_begin(ik_stream_t *stream);
void ik_anthropic_stream_event(ik_stream_t *stream, ik_json_span_t data);
void ik_anthropic_stream_end(ik_stream_t *stream);

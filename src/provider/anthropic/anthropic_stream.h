/*
 * Streams of Anthropic's Messages API: content blocks that are opened, grow by deltas and are
 * closed. An answer that is not streamed is read as if all its blocks had just been opened.
 *
 * The private data of a step is the list of its blocks. A tool_use block is a placeholder in it:
 * its id, name and input are those of the step's call, so that a large input is stored only once.
 * An answer that consists only of text and calls has no private data.
 */
#pragma once

#include "provider/stream.h"

void *ik_anthropic_stream_begin(ik_stream_t *stream);
void ik_anthropic_stream_event(ik_stream_t *stream, ik_json_span_t data);
void ik_anthropic_stream_end(ik_stream_t *stream);

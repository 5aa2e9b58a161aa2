/*
 * OpenRouter's reasoning_details: an array that wants to go back with the step as it would have
 * come in an answer that is not streamed. A stream brings its blocks in pieces, which share type
 * and index; a signature holds only for the whole.
 */
#pragma once

#include "base/buffer.h"

/* elements: all elements of all pieces in order, with commas between them. Appends the array with
 * pieces put together; whole blocks keep their bytes when there was nothing to put together. */
void ik_chat_details_format(ik_buffer_t *out, const ik_buffer_t *elements);

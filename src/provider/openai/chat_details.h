/*
 * OpenRouter's reasoning_details: an array that goes back with its step in the form it would have
 * in an answer that is not streamed. A stream delivers its blocks in pieces of equal type and
 * index; a signature is valid only for the whole block.
 */
#pragma once

#include "base/buffer.h"

/* elements holds all elements of the stream in order, with commas between them. Appends the array
 * with pieces joined to blocks; when there is nothing to join, all bytes stay as they are. */
void ik_chat_details_format(ik_buffer_t *out, const ik_buffer_t *elements);

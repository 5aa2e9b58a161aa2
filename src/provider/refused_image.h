/*
 * Finds out which images of a request a server refuses, from the place in its message:
 *
 *   OpenAI     "Invalid 'input[3].content[1].image_url'. …", or the same as param
 *   Anthropic  "messages.3.content.0.tool_result.content.1.image.source.base64: …"
 *   Gemini     "…contents[2].parts[1].inline_data…"
 */
#pragma once

#include "provider/wire.h"

/* The images of the last request that was made with the wire, on ctx: those at the place that text
 * names or, if it names none, all. Returns their number; 0: no image was sent. */
size_t ik_refused_image_find(const void *ctx, const ik_wire_t *wire, const char *text,
                             const ik_msg_image_t **images);

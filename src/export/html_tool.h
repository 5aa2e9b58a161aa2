/* A tool call in a page: a line that unfolds to the arguments and the result. */
#pragma once

#include "base/buffer.h"
#include "store/transcript.h"

/* images is the folder of the blobs, or NULL; small is HTML that ends the unfolded part. */
void ik_html_tool_append(ik_buffer_t *out, const ik_transcript_entry_t *entry, const char *images,
                         const char *small);

/* A tool call in a page: one line that unfolds to what the tool was given and what it answered. */
#pragma once

#include "base/buffer.h"
#include "store/transcript.h"

/* small is HTML for the end of what is unfolded. */
void ik_html_tool_append(ik_buffer_t *out, const ik_transcript_entry_t *entry, const char *small);

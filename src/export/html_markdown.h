/*
 * Converts the Markdown of a message to HTML. Raw HTML stays text, images become links, and only
 * http, https and mailto links are made; the target of any other link is written beside it.
 */
#pragma once

#include "base/buffer.h"

/* False, with nothing appended, when the text or its HTML would be too long; show it unconverted
 * then. */
bool ik_html_markdown_append(ik_buffer_t *out, const char *text, size_t len);

/*
 * Markdown of a message as HTML. Nothing in it is markup of the page: raw HTML is text, images are
 * links, and links go only to http, https and mailto; where any other points is written beside it.
 */
#pragma once

#include "base/buffer.h"

/* False, and nothing is appended, when the text is too long or becomes too much: it is then better
 * shown as it is. */
bool ik_html_markdown_append(ik_buffer_t *out, const char *text, size_t len);

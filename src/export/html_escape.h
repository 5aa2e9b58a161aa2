/*
 * The one way for foreign text into a page. Markup characters are escaped, so no text can be
 * anything but text, and what a reader could not see is shown: characters without a shape of their
 * own, above all those that turn the order of others around, as their numbers; control characters
 * and bytes that are no text as U+FFFD. A page cannot lie about what was said.
 */
#pragma once

#include "base/buffer.h"

/* Between tags. Line ends and tabs stay. */
void ik_html_escape(ik_buffer_t *out, const char *bytes, size_t len);
void ik_html_escape_text(ik_buffer_t *out, const char *text);
/* Between double quotes or in a title, where no markup can be. */
void ik_html_escape_attribute(ik_buffer_t *out, const char *bytes, size_t len);

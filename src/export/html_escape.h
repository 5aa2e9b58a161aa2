/*
 * Escapes text from a session for HTML; all of it passes here. Markup characters become entities.
 * Invisible characters (base/invisible.h: bidirectional controls, zero-width characters, tags) are
 * shown as U+XXXX; control characters and bytes that are not UTF-8 become U+FFFD. So the page shows
 * everything that was said.
 */
#pragma once

#include "base/buffer.h"

/* For text between tags. Line ends and tabs stay. */
void ik_html_escape(ik_buffer_t *out, const char *bytes, size_t len);
void ik_html_escape_text(ik_buffer_t *out, const char *text);
/* For attributes in double quotes and for <title>, where there can be no markup. */
void ik_html_escape_attribute(ik_buffer_t *out, const char *bytes, size_t len);

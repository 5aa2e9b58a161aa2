/* Escapes text for a Markdown document. Bytes that are not UTF-8 and control characters become
 * U+FFFD. */
#pragma once

#include "base/buffer.h"

/* Replaces such bytes only; line ends (CRLF as LF) and tabs stay. */
void ik_markdown_text_append_clean(ik_buffer_t *out, const char *text, size_t len);
/* One line of text, with all markup characters escaped. */
void ik_markdown_text_append_line(ik_buffer_t *out, const char *text);
/* One line as a code span; nothing for an empty text. */
void ik_markdown_text_append_code(ik_buffer_t *out, const char *text);
/* A code span in a table cell, where "|" must be escaped even in code. */
void ik_markdown_text_append_cell_code(ik_buffer_t *out, const char *text);
/* A fenced block; the fence is longer than any run of backticks in the text. language may be "". */
void ik_markdown_text_append_fenced(ik_buffer_t *out, const char *language, const char *text,
                                    size_t len);

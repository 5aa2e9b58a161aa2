/* Foreign text in a Markdown document where it must not mean anything. What is no text becomes
 * U+FFFD, control characters too. */
#pragma once

#include "base/buffer.h"

/* Text with its line ends and tabs, cleaned. */
void ik_markdown_text_append_clean(ik_buffer_t *out, const char *text, size_t len);
/* One line of words. */
void ik_markdown_text_append_line(ik_buffer_t *out, const char *text);
/* One line as code. Nothing when there is no text. */
void ik_markdown_text_append_code(ik_buffer_t *out, const char *text);
/* The same in a table, where a bar ends a cell even in code. */
void ik_markdown_text_append_cell_code(ik_buffer_t *out, const char *text);
/* A block with a fence that nothing in it can close. language may be "". */
void ik_markdown_text_append_fenced(ik_buffer_t *out, const char *language, const char *text,
                                    size_t len);

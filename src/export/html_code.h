/* Code and diffs as the content of a <pre>, coloured with the classes of html_style.h. */
#pragma once

#include "base/buffer.h"
#include "base/code_colour.h"

/* language may be NULL. */
void ik_html_code_append(ik_buffer_t *out, const ik_code_language_t *language, const char *text,
                         size_t len);

/* Whether the text contains a unified diff (diff -u, git diff). */
bool ik_html_code_is_diff(const char *text, size_t len);
void ik_html_code_append_diff(ik_buffer_t *out, const char *text, size_t len);
/* Appends the line diff of two texts. */
void ik_html_code_append_change(ik_buffer_t *out, const ik_code_language_t *language,
                                const char *before, size_t before_len, const char *after,
                                size_t after_len);

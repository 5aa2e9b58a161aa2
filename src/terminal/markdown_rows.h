/* The destination of the rows of a message, and their limits. */
#pragma once

#include "terminal/markdown.h"

typedef struct {
    const ik_theme_t *theme;
    size_t width;    /* of prose, at least 1 */
    size_t max_open; /* rows of a block that may be held back, at least 1 */
    ik_row_t row;    /* under construction */
    ik_markdown_row_fn on_row;
    void *data;
} ik_markdown_rows_t;

void ik_markdown_rows_init(ik_markdown_rows_t *rows, const void *ctx,
                           const ik_markdown_options_t *options);
void ik_markdown_rows_resize(ik_markdown_rows_t *rows, int columns, int max_open);
/* Passes the row to on_row and starts an empty one. */
void ik_markdown_rows_emit(ik_markdown_rows_t *rows);
/* Append spaces, or copies of a text that is one column wide. */
void ik_markdown_rows_pad(ik_markdown_rows_t *rows, size_t columns);
void ik_markdown_rows_repeat(ik_markdown_rows_t *rows, ik_role_t role, const char *text,
                             size_t columns);

/* Where the rows of a message go, and how wide they may be. */
#pragma once

#include "terminal/markdown.h"

typedef struct {
    const ik_theme_t *theme;
    size_t width;    /* of prose, at least 1 */
    size_t max_open; /* rows of a block that may wait, at least 1 */
    ik_row_t row;    /* the one that is being made */
    ik_markdown_row_fn on_row;
    void *data;
} ik_markdown_rows_t;

void ik_markdown_rows_init(ik_markdown_rows_t *rows, const void *ctx,
                           const ik_markdown_options_t *options);
void ik_markdown_rows_resize(ik_markdown_rows_t *rows, int columns, int max_open);
/* The row is finished; the next one is empty. */
void ik_markdown_rows_give(ik_markdown_rows_t *rows);
/* Appends so many spaces, or copies of a text of one column. */
void ik_markdown_rows_pad(ik_markdown_rows_t *rows, size_t columns);
void ik_markdown_rows_repeat(ik_markdown_rows_t *rows, ik_role_t role, const char *text,
                             size_t columns);

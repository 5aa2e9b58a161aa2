/*
 * A table: columns as wide as their widest cell, narrower and wrapped when the screen is too
 * narrow. It is held back until it is complete. One that is taller than may wait is given with the
 * widths known so far, and from then on row by row.
 */
#pragma once

#include "terminal/markdown_inline.h"
#include "terminal/markdown_margin.h"

enum {
    IK_MARKDOWN_TABLE_COLUMNS = 32,
    IK_MARKDOWN_TABLE_LINE_MAX = 4096, /* bytes of a row; a longer line is none */
};

typedef struct ik_markdown_table ik_markdown_table_t;

ik_markdown_table_t *ik_markdown_table_create(const void *ctx, const ik_theme_t *theme);

/* The line below the head gives the alignment of each column; false: these two are no table, or
 * one with more columns than there is room for. */
bool ik_markdown_table_begin(ik_markdown_table_t *table, const char *head, size_t head_len,
                             const char *line, size_t len, const ik_markdown_margin_t *margin,
                             const ik_markdown_rows_t *rows);
/* Whether a line can be a row of it. */
bool ik_markdown_table_is_row(const char *line, size_t len);
void ik_markdown_table_add(ik_markdown_table_t *table, const char *line, size_t len,
                           ik_markdown_margin_t *margin, ik_markdown_rows_t *rows);
/* What was not given yet. */
void ik_markdown_table_give(ik_markdown_table_t *table, ik_markdown_margin_t *margin,
                            ik_markdown_rows_t *rows);

/* Everything added or given after save is undone by restore. */
void ik_markdown_table_save(ik_markdown_table_t *table);
void ik_markdown_table_restore(ik_markdown_table_t *table);

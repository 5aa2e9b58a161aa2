/*
 * A table. Columns are as wide as their widest cell, or narrower and wrapped on a narrow screen, so
 * the table is held back until it is complete. A table with more rows than may be held back is
 * emitted with the widths known so far, and from then on row by row.
 */
#pragma once

#include "terminal/markdown_inline.h"
#include "terminal/markdown_margin.h"

enum {
    IK_MARKDOWN_TABLE_COLUMNS = 32,
    IK_MARKDOWN_TABLE_LINE_MAX = 4096, /* bytes; a longer line is not a row */
};

typedef struct ik_markdown_table ik_markdown_table_t;

ik_markdown_table_t *ik_markdown_table_create(const void *ctx, const ik_theme_t *theme);

/* Starts a table with its head and the line below it, which gives the alignment of the columns.
 * Returns false if the two are not a table, or one with more columns than fit. */
bool ik_markdown_table_begin(ik_markdown_table_t *table, const char *head, size_t head_len,
                             const char *line, size_t len, const ik_markdown_margin_t *margin,
                             const ik_markdown_rows_t *rows);
/* Whether a line can be a row of a table. */
bool ik_markdown_table_is_row(const char *line, size_t len);
void ik_markdown_table_add(ik_markdown_table_t *table, const char *line, size_t len,
                           ik_markdown_margin_t *margin, ik_markdown_rows_t *rows);
/* Emits the rows held back. */
void ik_markdown_table_emit(ik_markdown_table_t *table, ik_markdown_margin_t *margin,
                            ik_markdown_rows_t *rows);

/* restore undoes everything added or emitted since save. */
void ik_markdown_table_save(ik_markdown_table_t *table);
void ik_markdown_table_restore(ik_markdown_table_t *table);

#include "terminal/markdown_rows.h"

void ik_markdown_rows_init(ik_markdown_rows_t *rows, const void *ctx,
                           const ik_markdown_options_t *options)
{
    *rows = (ik_markdown_rows_t){
        .theme = options->theme, .on_row = options->on_row, .data = options->data};
    ik_row_init(&rows->row, ctx, options->theme);
    ik_markdown_rows_resize(rows, options->columns, options->max_open);
}

void ik_markdown_rows_resize(ik_markdown_rows_t *rows, int columns, int max_open)
{
    rows->width = columns > 2 ? (size_t)columns - 1 : 1;
    rows->max_open = max_open > 1 ? (size_t)max_open : 1;
}

void ik_markdown_rows_emit(ik_markdown_rows_t *rows)
{
    ik_row_end(&rows->row);
    rows->on_row(rows->data, rows->row.bytes.len == 0 ? "" : rows->row.bytes.data,
                 rows->row.bytes.len);
    ik_row_clear(&rows->row);
}

void ik_markdown_rows_pad(ik_markdown_rows_t *rows, size_t columns)
{
    ik_markdown_rows_repeat(rows, IK_ROLE_TEXT, " ", columns);
}

void ik_markdown_rows_repeat(ik_markdown_rows_t *rows, ik_role_t role, const char *text,
                             size_t columns)
{
    for (size_t i = 0; i < columns; i++) {
        ik_row_add_role(&rows->row, role, text);
    }
}

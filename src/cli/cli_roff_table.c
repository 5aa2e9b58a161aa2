#include "cli/cli_roff_table.h"

#include <string.h>

#include "base/alloc.h"

/* A table of many columns and many empty rows is short in Markdown and has no end. */
enum { MOST_CELLS = 100000 };
/* Columns, as they look good on a page of 80. A longer tag stands on a line of its own; texts of
 * one or two lines need no empty lines between them. */
enum { TAG_INDENT = 8, LONGEST_TAG = 24, SHORT_TEXT = 90 };

typedef struct {
    char *roff;
    size_t columns; /* as a reader counts them */
} cell_t;

struct ik_cli_roff_table {
    size_t columns;
    cell_t *cells;
    size_t count;
    size_t room;
    bool is_open; /* words go to the last cell */
    ik_buffer_t words;
    ik_cli_roff_text_t text;
};

ik_cli_roff_table_t *ik_cli_roff_table_create(const void *ctx, size_t columns)
{
    ik_cli_roff_table_t *table = ik_new(ctx, ik_cli_roff_table_t);
    table->columns = columns;
    ik_buffer_init(&table->words, table, IK_BUFFER_UNLIMITED);
    return table;
}

/* --- cells ------------------------------------------------------------------------------- */

static void end_cell(ik_cli_roff_table_t *table)
{
    if (!table->is_open) {
        return;
    }
    ik_cli_roff_text_end(&table->text);
    table->cells[table->count++] = (cell_t){
        .roff = ik_strndup(table, table->words.len > 0 ? table->words.data : "", table->words.len),
        .columns = table->text.columns};
    table->is_open = false;
}

static void make_room(ik_cli_roff_table_t *table)
{
    if (table->count == table->room) {
        table->room = table->room == 0 ? 64 : table->room * 2;
        table->cells = ik_resize_array(table, table->cells, cell_t, table->room);
    }
}

ik_cli_roff_text_t *ik_cli_roff_table_next_cell(ik_cli_roff_table_t *table)
{
    end_cell(table);
    if (table->count == MOST_CELLS) {
        return NULL;
    }
    make_room(table);
    table->words.len = 0;
    table->is_open = true;
    ik_cli_roff_text_init(&table->text, &table->words);
    bool is_head = table->count < table->columns;
    bool is_last = table->count % table->columns == table->columns - 1 && table->columns > 1;
    table->text.is_one_line = is_head || !is_last;
    return &table->text;
}

/* --- rows -------------------------------------------------------------------------------- */

/* A row is its cells; the first row holds the names. */
static const cell_t *row_at(const ik_cli_roff_table_t *table, size_t index)
{
    return table->cells + index * table->columns;
}

/* A table of one column has tags alone. */
static const cell_t *text_of(const ik_cli_roff_table_t *table, const cell_t *row)
{
    static const cell_t none = {.roff = ""};
    return table->columns > 1 ? &row[table->columns - 1] : &none;
}

/* What stands between the first and the last cell is added as "(default: 50)". */
static size_t measure_tag(const ik_cli_roff_table_t *table, const cell_t *row)
{
    size_t columns = row[0].columns;
    for (size_t i = 1; i + 1 < table->columns; i++) {
        if (row[i].columns > 0) {
            size_t name = table->cells[i].columns;
            columns += (columns > 0) + strlen("()") + row[i].columns;
            columns += name > 0 ? name + strlen(": ") : 0;
        }
    }
    return columns;
}

static void append_tag(ik_buffer_t *out, const ik_cli_roff_table_t *table, const cell_t *row)
{
    const char *space = row[0].columns > 0 ? " " : "";
    ik_buffer_append_text(out, row[0].roff);
    for (size_t i = 1; i + 1 < table->columns; i++) {
        if (row[i].columns > 0) {
            const cell_t *name = &table->cells[i];
            ik_buffer_append_format(out, "%s(%s%s%s)", space, name->roff,
                                    name->columns > 0 ? ": " : "", row[i].roff);
            space = " ";
        }
    }
}

static bool are_close(const ik_cli_roff_table_t *table, size_t rows)
{
    size_t i = 1;
    while (i < rows && text_of(table, row_at(table, i))->columns <= SHORT_TEXT) {
        i++;
    }
    return i == rows;
}

/* The column in which texts begin. */
static size_t find_indent(const ik_cli_roff_table_t *table, size_t rows)
{
    size_t widest = 0;
    bool all_fit = true;
    for (size_t i = 1; i < rows; i++) {
        size_t columns = measure_tag(table, row_at(table, i));
        bool fits = columns <= LONGEST_TAG;
        widest = fits && columns > widest ? columns : widest;
        all_fit = all_fit && fits;
    }
    return all_fit || widest + 2 > TAG_INDENT ? widest + 2 : TAG_INDENT;
}

static void append_tagged(ik_buffer_t *out, const ik_cli_roff_table_t *table, const cell_t *row,
                          size_t indent)
{
    ik_buffer_append_format(out, ".TP %zu\n", indent);
    append_tag(out, table, row);
    if (measure_tag(table, row) + 1 == indent) {
        /* With one space between it would run into the text: this makes it too wide for that. */
        ik_buffer_append_text(out, "\\~\\&");
    }
    ik_buffer_append_format(out, "\n%s\n", text_of(table, row)->roff);
}

static void append_row(ik_buffer_t *out, const ik_cli_roff_table_t *table, const cell_t *row,
                       size_t indent)
{
    bool has_tag = measure_tag(table, row) > 0;
    bool has_text = text_of(table, row)->columns > 0;
    if (has_tag && has_text) {
        append_tagged(out, table, row, indent);
    } else if (has_tag) {
        ik_buffer_append_text(out, ".IP \"");
        append_tag(out, table, row);
        ik_buffer_append_format(out, "\" %zu\n", indent);
    } else if (has_text) {
        ik_buffer_append_format(out, ".IP \"\" %zu\n%s\n", indent, text_of(table, row)->roff);
    }
}

void ik_cli_roff_table_append(ik_buffer_t *out, ik_cli_roff_table_t *table)
{
    end_cell(table);
    size_t rows = table->count / table->columns;
    bool close = are_close(table, rows);
    size_t indent = close ? find_indent(table, rows) : TAG_INDENT;
    for (size_t i = 1; i < rows && out->dropped == 0; i++) {
        append_row(out, table, row_at(table, i), indent);
        if (close && i == 1 && rows > 2) { /* the first one has a distance */
            ik_buffer_append_text(out, ".PD 0\n");
        }
    }
    if (close && rows > 2) {
        ik_buffer_append_text(out, ".PD\n");
    }
}

#include "cli/cli_manual_fit.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/width.h"
#include "cli/cli_manual_lines.h"

enum {
    COLUMNS_MAX = 8,
    GAP = 2,         /* blanks between two cells */
    DEFINITIONS = 0, /* instead of a width: every table becomes a definition list */
};

typedef ik_cli_manual_line_t line_t;
typedef ik_cli_manual_lines_t lines_t;

/* --- rows of a table --------------------------------------------------------------------- */

/* The cells of a line, without surrounding blanks. */
typedef struct {
    const char *cells[COLUMNS_MAX];
    size_t lens[COLUMNS_MAX];
    size_t count; /* 0: not a row, or one with more than COLUMNS_MAX cells */
} row_t;

static void add_cell(row_t *row, const char *text, size_t len)
{
    while (len > 0 && text[0] == ' ') {
        text++;
        len--;
    }
    while (len > 0 && text[len - 1] == ' ') {
        len--;
    }
    row->cells[row->count] = text;
    row->lens[row->count++] = len;
}

/* Every bar without a backslash ends a cell, even inside code. */
static row_t parse_row(const line_t *line)
{
    row_t row = {0};
    if (line->is_code || line->text[0] != '|') {
        return row;
    }
    const char *cell = line->text + 1;
    for (const char *at = cell; at < line->text + line->len; at++) {
        if (*at == '|' && at[-1] != '\\') {
            if (row.count == COLUMNS_MAX) {
                return (row_t){0};
            }
            add_cell(&row, cell, (size_t)(at - cell));
            cell = at + 1;
        }
    }
    return row;
}

/* |---|---| */
static bool is_ruler(const line_t *line)
{
    return !line->is_code && line->text[0] == '|' &&
           strspn(line->text, "|-: ") >= line->len - (line->text[line->len - 1] == '\n');
}

/* The width on the screen, where backticks and the backslashes of bars do not appear. */
static size_t width_of(const char *cell, size_t len)
{
    size_t marks = 0;
    for (size_t i = 0; i < len; i++) {
        marks += cell[i] == '`' || (cell[i] == '\\' && i + 1 < len && cell[i + 1] == '|');
    }
    return ik_width(cell, len) - marks;
}

static void widen(size_t *widths, const row_t *row)
{
    for (size_t i = 0; i < row->count; i++) {
        size_t width = width_of(row->cells[i], row->lens[i]);
        widths[i] = width > widths[i] ? width : widths[i];
    }
}

/* Whether the columns before the last one take more than half of the screen, and each row has a
 * first cell, as a list needs. */
static bool is_cramped(const row_t *head, lines_t lines, size_t columns)
{
    size_t widths[COLUMNS_MAX] = {0};
    size_t before = 0;
    line_t line;
    widen(widths, head);
    for (row_t row;
         ik_cli_manual_lines_next(&lines, &line) && (row = parse_row(&line)).count > 0;) {
        if (row.lens[0] == 0) {
            return false;
        }
        widen(widths, &row);
    }
    for (size_t i = 0; i + 1 < head->count; i++) {
        before += widths[i] + GAP;
    }
    return before > columns / 2;
}

/* --- rows of a list ---------------------------------------------------------------------- */

static void append_cell(ik_buffer_t *out, const char *cell, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (cell[i] != '\\' || i + 1 == len || cell[i + 1] != '|') {
            ik_buffer_append_byte(out, cell[i]);
        }
    }
}

/* Appends a list item, or for lowdown a definition: `term`, then `: text` on the next line. */
static void append_item(ik_buffer_t *out, const row_t *head, const row_t *row, bool definition)
{
    size_t last = row->count - 1;
    ik_buffer_append_text(out, definition ? "" : "- ");
    append_cell(out, row->cells[0], row->lens[0]);
    for (size_t i = 1; i < last; i++) {
        if (i < head->count && row->lens[i] > 0) {
            ik_buffer_append_text(out, " (");
            append_cell(out, head->cells[i], head->lens[i]);
            ik_buffer_append_text(out, ": ");
            append_cell(out, row->cells[i], row->lens[i]);
            ik_buffer_append_text(out, ")");
        }
    }
    if (definition) {
        ik_buffer_append_text(out, "\n: ");
        append_cell(out, row->cells[last], row->lens[last]);
        ik_buffer_append_byte(out, '\n');
    } else if (row->lens[last] > 0) {
        ik_buffer_append_text(out, "\\\n  ");
        append_cell(out, row->cells[last], row->lens[last]);
    }
    ik_buffer_append_byte(out, '\n');
}

/* Replaces the ruler and all rows after the head by list items. */
static void append_list(ik_buffer_t *out, const row_t *head, lines_t *lines, bool definitions)
{
    line_t line;
    ik_cli_manual_lines_next(lines, &line);
    for (;;) {
        lines_t ahead = *lines;
        row_t row = ik_cli_manual_lines_next(&ahead, &line) ? parse_row(&line) : (row_t){0};
        if (row.count == 0) {
            return;
        }
        append_item(out, head, &row, definitions);
        *lines = ahead;
    }
}

/* Whether a table begins here. Then *head is its first row, and lines continues after its ruler. */
static bool begins_table(const line_t *line, lines_t *lines, row_t *head)
{
    line_t ruler;
    *head = parse_row(line);
    return head->count > 1 && ik_cli_manual_lines_next(lines, &ruler) && is_ruler(&ruler);
}

static char *make_lists(const void *ctx, const char *markdown, size_t columns)
{
    ik_buffer_t out;
    line_t line;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the document */
    ik_buffer_append_text(&out, "");
    for (lines_t lines = {.at = markdown}; ik_cli_manual_lines_next(&lines, &line);) {
        row_t head;
        lines_t rows = lines;
        if (begins_table(&line, &rows, &head) &&
            (columns == DEFINITIONS || is_cramped(&head, rows, columns))) {
            append_list(&out, &head, &lines, columns == DEFINITIONS);
        } else {
            ik_buffer_append(&out, line.text, line.len);
        }
    }
    return ik_buffer_finish(&out);
}

/* --- links ------------------------------------------------------------------------------- */

/* `[WORDS](NAME.md#PLACE)` */
typedef struct {
    const char *words;
    size_t words_len;
    const char *name;
    size_t name_len;
    size_t len; /* of the whole link */
} link_t;

/* False if the text does not begin with such a link. */
static bool parse_link(const char *text, size_t len, link_t *link)
{
    const char *middle = text[0] == '[' ? memmem(text, len, "](", 2) : NULL;
    const char *end = middle == NULL ? NULL : memchr(middle, ')', len - (size_t)(middle - text));
    const char *suffix = end == NULL ? NULL : memmem(middle, (size_t)(end - middle), ".md", 3);
    if (suffix == NULL || memchr(middle, '/', (size_t)(suffix - middle)) != NULL) {
        return false;
    }
    *link = (link_t){.words = text + 1,
                     .words_len = (size_t)(middle - text) - 1,
                     .name = middle + 2,
                     .name_len = (size_t)(suffix - middle) - 2,
                     .len = (size_t)(end - text) + 1};
    return true;
}

static void append_link(ik_buffer_t *out, const link_t *link)
{
    bool is_file_name = link->words_len == link->name_len + strlen(".md") &&
                        strncmp(link->words, link->name, link->words_len) == 0;
    if (is_file_name) {
        ik_buffer_append_format(out, "`ikigai help %.*s`", (int)link->name_len, link->name);
    } else {
        ik_buffer_append(out, link->words, link->words_len);
    }
}

static void append_line(ik_buffer_t *out, const line_t *line)
{
    for (size_t i = 0; i < line->len;) {
        link_t link;
        if (!line->is_code && parse_link(line->text + i, line->len - i, &link)) {
            append_link(out, &link);
            i += link.len;
        } else {
            ik_buffer_append_byte(out, line->text[i++]);
        }
    }
}

static char *resolve_links(const void *ctx, const char *markdown)
{
    ik_buffer_t out;
    line_t line;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the document */
    ik_buffer_append_text(&out, "");
    for (lines_t lines = {.at = markdown}; ik_cli_manual_lines_next(&lines, &line);) {
        append_line(&out, &line);
    }
    return ik_buffer_finish(&out);
}

char *ik_cli_manual_fit(const void *ctx, const char *markdown, size_t columns)
{
    char *resolved = resolve_links(NULL, markdown);
    char *fit = make_lists(ctx, resolved, columns);
    talloc_free(resolved);
    return fit;
}

char *ik_cli_manual_define(const void *ctx, const char *markdown)
{
    return ik_cli_manual_fit(ctx, markdown, DEFINITIONS);
}

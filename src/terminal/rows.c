#include "terminal/rows.h"

#include <string.h>

#include "base/alloc.h"
#include "base/sanitiser.h"
#include "terminal/markdown_wrap.h"

void ik_rows_put(const ik_rows_t *rows, ik_row_t *row)
{
    ik_row_end(row);
    rows->on_row(rows->data, row->bytes.data == NULL ? "" : row->bytes.data, row->bytes.len);
    ik_row_clear(row);
}

void ik_rows_gap(const ik_rows_t *rows)
{
    rows->on_row(rows->data, "", 0);
}

void ik_rows_say(const ik_rows_t *rows, ik_role_t role, const char *text)
{
    if (rows->backlog != NULL) {
        ik_backlog_add_sentence(rows->backlog, role, text);
        return;
    }
    void *scratch = talloc_new(NULL);
    char *line = ik_sanitise_line(scratch, text);
    size_t indent = strspn(line, " ");
    size_t room = rows->columns > 1 ? (size_t)rows->columns - 1 : 1;
    ik_style_t style = ik_theme_style(rows->theme, role);
    ik_markdown_wrap_t wrap;
    ik_markdown_wrap_line_t part = {0};
    ik_row_t row;
    ik_row_init(&row, scratch, rows->theme);
    indent = indent < room / 2 ? indent : 0;
    ik_markdown_wrap_init(&wrap, line, 0, strlen(line), room - indent);
    bool has_words = ik_markdown_wrap_next(&wrap, &part);
    do { /* an empty sentence is an empty row */
        ik_row_add(&row, style, line, has_words ? indent : 0);
        ik_row_add(&row, style, line + part.from, part.to - part.from);
        ik_rows_put(rows, &row);
        has_words = ik_markdown_wrap_next(&wrap, &part);
    } while (has_words);
    talloc_free(scratch);
}

size_t ik_rows_count_lines(const char *text, size_t len)
{
    size_t count = 0;
    const char *end = text + len;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        text = newline == NULL ? end : newline + 1;
        count++;
    }
    return count;
}

size_t ik_rows_find_tail(const char *text, size_t len, int lines)
{
    size_t begin = len;
    while (begin > 0) {
        bool is_line_end = text[begin - 1] == '\n' && begin < len;
        if (is_line_end && --lines == 0) {
            break;
        }
        begin--;
    }
    return begin;
}

void ik_rows_lines(const ik_rows_t *rows, ik_role_t role, const char *text)
{
    void *scratch = talloc_new(NULL);
    ik_row_t row;
    ik_row_init(&row, scratch, rows->theme);
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        ik_row_add(&row, ik_theme_style(rows->theme, role), text, len);
        ik_rows_put(rows, &row);
        text += len;
        text += *text == '\n';
    }
    talloc_free(scratch);
}

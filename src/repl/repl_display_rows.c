/* Renders the part of a result that its tool wants to be shown as a diff, a checklist and so on. */
#include <string.h>

#include "base/alloc.h"
#include "base/sanitiser.h"
#include "base/utf8.h"
#include "conversation/figure.h"
#include "repl/repl_rows.h"
#include "terminal/code_rows.h"
#include "terminal/markdown.h"

/* Passes on a number of rows and counts the others. */
typedef struct {
    const ik_rows_t *rows;
    size_t room;
    size_t left_out;
} sink_t;

static void put_row(void *data, const char *bytes, size_t len)
{
    sink_t *sink = data;
    if (sink->room == 0) {
        sink->left_out++;
        return;
    }
    sink->room--;
    sink->rows->on_row(sink->rows->data, bytes, len);
}

void ik_repl_rows_item(ik_row_t *row, const ik_tool_item_t *item)
{
    static const ik_role_t roles[] = {[IK_TOOL_ITEM_PENDING] = IK_ROLE_TEXT,
                                      [IK_TOOL_ITEM_IN_PROGRESS] = IK_ROLE_STRONG,
                                      [IK_TOOL_ITEM_COMPLETED] = IK_ROLE_DIM};
    char *content = ik_json_decode(NULL, item->content, NULL);
    ik_row_add_format(row, item->state == IK_TOOL_ITEM_COMPLETED ? IK_ROLE_GOOD : IK_ROLE_DIM,
                      "%s ", ik_tool_display_mark(item->state));
    ik_row_add_role(row, roles[item->state], ik_sanitise_line(content, content));
    talloc_free(content);
}

static void add_checklist(sink_t *sink, const ik_tool_display_t *shown)
{
    ik_tool_item_t item;
    ik_row_t row;
    ik_row_init(&row, NULL, sink->rows->theme);
    for (size_t at = 0; ik_tool_display_next_item(shown, &at, &item);) {
        ik_repl_rows_item(&row, &item);
        ik_row_end(&row);
        put_row(sink, row.bytes.data, row.bytes.len);
        ik_row_clear(&row);
    }
    ik_buffer_reset(&row.bytes);
}

static void add_markdown(sink_t *sink, const char *text, size_t len)
{
    ik_markdown_t *markdown =
        ik_markdown_create(NULL, &(ik_markdown_options_t){.theme = sink->rows->theme,
                                                          .columns = sink->rows->columns,
                                                          .max_open = IK_ROWS_MAX,
                                                          .on_row = put_row,
                                                          .data = sink});
    ik_markdown_feed(markdown, text, len);
    ik_markdown_end(markdown);
    talloc_free(markdown);
}

static void add_table(sink_t *sink, const ik_tool_display_t *shown)
{
    size_t left_out;
    char *table = ik_tool_display_format_table(
        NULL, shown, sink->rows->full ? SIZE_MAX : IK_ROWS_MAX, &left_out);
    add_markdown(sink, table, strlen(table));
    sink->left_out += left_out;
    talloc_free(table);
}

static void add_code(sink_t *sink, const char *text, size_t len, const char *language)
{
    void *scratch = talloc_new(NULL);
    ik_code_rows_t *code = ik_code_rows_create(scratch, sink->rows->theme,
                                               ik_code_colour_find(language, strlen(language)));
    ik_row_t row;
    ik_row_init(&row, scratch, sink->rows->theme);
    for (size_t at = 0; at < len;) {
        const char *newline = memchr(text + at, '\n', len - at);
        size_t line = newline == NULL ? len - at : (size_t)(newline - text) - at;
        ik_code_rows_add(code, &row, text + at, line);
        ik_row_end(&row);
        put_row(sink, row.bytes.data == NULL ? "" : row.bytes.data, row.bytes.len);
        ik_row_clear(&row);
        at += line + 1;
    }
    talloc_free(scratch);
}

static void add_text(sink_t *sink, const ik_tool_display_t *shown, const char *language)
{
    void *scratch = talloc_new(NULL);
    size_t len;
    char *text = ik_json_decode(scratch, shown->part, &len);
    size_t used = sink->rows->full ? len : ik_utf8_cut(text, len, IK_REPL_BYTES_MAX);
    if (shown->display == IK_DISPLAY_MARKDOWN) {
        add_markdown(sink, text, used);
    } else if (shown->display == IK_DISPLAY_DIFF) {
        ik_patch_place_t place = {0};
        ik_code_rows_patch(sink->rows->theme, &place, text, used, put_row, sink);
    } else {
        add_code(sink, text, used,
                 shown->language.len == 0 ? language
                                          : ik_json_decode(scratch, shown->language, NULL));
    }
    sink->left_out += used < len ? ik_rows_count_lines(text + used, len - used) : 0;
    talloc_free(scratch);
}

size_t ik_repl_rows_shown(const ik_rows_t *rows, const ik_tool_display_t *shown,
                          const char *language)
{
    sink_t sink = {.rows = rows,
                   .room = rows->full    ? SIZE_MAX
                           : rows->brief ? IK_REPL_BRIEF_ROWS
                                         : IK_ROWS_MAX};
    switch (shown->display) {
    case IK_DISPLAY_CHECKLIST:
        add_checklist(&sink, shown);
        break;
    case IK_DISPLAY_TABLE:
        add_table(&sink, shown);
        break;
    case IK_DISPLAY_USUAL:
    case IK_DISPLAY_IMAGE: /* the images of a message have rows of their own */
    case IK_DISPLAY_COUNT:
        break;
    default:
        add_text(&sink, shown, language);
    }
    return sink.left_out;
}

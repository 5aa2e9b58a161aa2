#include "terminal/markdown.h"

#include <string.h>

#include "base/alloc.h"
#include "base/sanitiser.h"
#include "base/utf8.h"
#include "base/width.h"
#include "terminal/markdown_blocks.h"

struct ik_markdown {
    ik_sanitiser_t sanitiser;
    ik_markdown_rows_t rows;
    ik_markdown_layout_t layout;
    ik_markdown_table_t *table;
    ik_markdown_blocks_t blocks;
    ik_buffer_t line; /* the last line, until it is taken */
    /* for ik_markdown_draw_open */
    ik_buffer_t source;
    ik_buffer_t drawn; /* rows, one after the other */
    size_t *ends;
    size_t count;
    size_t room;
};

ik_markdown_t *ik_markdown_create(const void *ctx, const ik_markdown_options_t *options)
{
    ik_markdown_t *markdown = ik_new(ctx, ik_markdown_t);
    ik_sanitiser_init(&markdown->sanitiser);
    ik_markdown_rows_init(&markdown->rows, markdown, options);
    ik_markdown_inline_init(&markdown->layout.flat, markdown, options->theme);
    markdown->layout.rows = &markdown->rows;
    markdown->table = ik_markdown_table_create(markdown, options->theme);
    ik_markdown_blocks_init(&markdown->blocks, markdown, &markdown->layout, markdown->table);
    ik_buffer_init(&markdown->line, markdown, IK_BUFFER_UNLIMITED);   /* bounded by the message */
    ik_buffer_init(&markdown->source, markdown, IK_BUFFER_UNLIMITED); /* the open block */
    ik_buffer_init(&markdown->drawn, markdown, IK_BUFFER_UNLIMITED);  /* its rows */
    return markdown;
}

void ik_markdown_resize(ik_markdown_t *markdown, int columns, int max_open)
{
    ik_markdown_rows_resize(&markdown->rows, columns, max_open);
}

/* --- text to lines ----------------------------------------------------------------------- */

static void take_line(ik_markdown_t *markdown, bool is_whole)
{
    ik_buffer_t *line = &markdown->line;
    ik_markdown_blocks_take(&markdown->blocks, line->len == 0 ? "" : line->data, line->len,
                            is_whole);
    line->len = 0;
}

/* Adds text to a line that was taken before it ended; returns how many bytes it used. */
static size_t continue_line(ik_markdown_t *markdown, const char *text, size_t len)
{
    const char *end = memchr(text, '\n', len);
    size_t part = end == NULL ? len : (size_t)(end - text);
    ik_markdown_blocks_go_on(&markdown->blocks, text, part);
    if (end != NULL) {
        ik_markdown_blocks_end_line(&markdown->blocks);
    }
    return part + (end != NULL);
}

/* Adds text to a line that is not taken yet; returns how many bytes it used. */
static size_t gather_line(ik_markdown_t *markdown, const char *text, size_t len)
{
    ik_buffer_t *line = &markdown->line;
    size_t want = ik_markdown_blocks_want(&markdown->blocks, line->data, line->len) - line->len;
    size_t most = len < want ? len : want;
    const char *end = memchr(text, '\n', most);
    size_t part = end == NULL ? most : (size_t)(end - text);
    ik_buffer_append(line, text, part);
    if (end != NULL) {
        take_line(markdown, true);
    } else if (part == want &&
               ik_markdown_blocks_want(&markdown->blocks, line->data, line->len) <= line->len) {
        take_line(markdown, false);
    }
    return part + (end != NULL);
}

/* Ignores styles, which come from escape sequences in the message. */
static void on_text(void *data, ik_style_t style, const char *text, size_t len)
{
    (void)style;
    ik_markdown_t *markdown = data;
    while (len > 0) {
        size_t part = ik_markdown_blocks_goes_on(&markdown->blocks)
                          ? continue_line(markdown, text, len)
                          : gather_line(markdown, text, len);
        text += part;
        len -= part;
    }
}

void ik_markdown_feed(ik_markdown_t *markdown, const char *text, size_t len)
{
    ik_sanitiser_feed(&markdown->sanitiser, text, len, on_text, markdown);
}

void ik_markdown_end(ik_markdown_t *markdown)
{
    ik_sanitiser_end(&markdown->sanitiser, on_text, markdown);
    if (markdown->line.len > 0) {
        take_line(markdown, true);
    }
    ik_markdown_blocks_end(&markdown->blocks);
    ik_buffer_reset(&markdown->blocks.prose.source);
    ik_markdown_blocks_init(&markdown->blocks, markdown, &markdown->layout, markdown->table);
}

/* --- the open block ---------------------------------------------------------------------- */

/* Collects a row. rows.row still holds it, with its width. */
static void on_drawn(void *data, const char *bytes, size_t len)
{
    ik_markdown_t *markdown = data;
    if (markdown->count == markdown->room) {
        markdown->room = markdown->room == 0 ? 32 : markdown->room * 2;
        markdown->ends = ik_resize_array(markdown, markdown->ends, size_t, markdown->room);
    }
    if ((size_t)markdown->rows.row.width > markdown->rows.width ||
        memchr(bytes, '\t', len) != NULL) {
        ik_row_fit(&markdown->drawn, bytes, len, (int)markdown->rows.width);
    } else {
        ik_buffer_append(&markdown->drawn, bytes, len);
    }
    markdown->ends[markdown->count++] = markdown->drawn.len;
}

/* The markup characters that do not yet decide what a line is, in the current block. */
static const char *marks_of(const ik_markdown_blocks_t *blocks)
{
    switch (blocks->leaf) {
    case IK_MARKDOWN_FENCE:
        return blocks->is_line_open ? "" : blocks->fence.mark == '~' ? " ~" : " `";
    case IK_MARKDOWN_INDENTED:
        return "";
    case IK_MARKDOWN_TABLE:
        return " |";
    default:
        return " \t`~-=*+#>|:_.)[]0123456789";
    }
}

/* The length of the last line, cut to what is visible if it is code. */
static size_t seen_of_line(const ik_markdown_t *markdown)
{
    enum { INDENT = 64, MOST = 4096 };
    const ik_buffer_t *line = &markdown->line;
    size_t columns;
    if (!ik_markdown_blocks_is_code(&markdown->blocks)) {
        return line->len;
    }
    size_t len = ik_utf8_cut(line->data, line->len, MOST);
    return ik_width_fit(line->data, len, markdown->rows.width + INDENT, &columns);
}

/* Renders the end of the message with a copy of the state, which is then discarded. */
static void draw_draft(ik_markdown_t *markdown)
{
    ik_markdown_blocks_t draft = markdown->blocks;
    const ik_buffer_t *source = &markdown->blocks.prose.source;
    draft.prose.source = markdown->source;
    draft.prose.source.len = 0;
    ik_buffer_append(&draft.prose.source, source->data, source->len);
    ik_markdown_table_save(markdown->table);
    const ik_buffer_t *line = &markdown->line;
    bool decided = line->len > 0 && strspn(line->data, marks_of(&markdown->blocks)) < line->len;
    if (decided) {
        ik_markdown_blocks_take(&draft, line->data, seen_of_line(markdown), true);
    }
    ik_markdown_blocks_end(&draft);
    ik_markdown_table_restore(markdown->table);
    markdown->source = draft.prose.source;
}

void ik_markdown_draw_open(ik_markdown_t *markdown, ik_markdown_row_fn on_row, void *data)
{
    ik_markdown_rows_t *rows = &markdown->rows;
    ik_markdown_row_fn given_to = rows->on_row;
    void *given_data = rows->data;
    rows->on_row = on_drawn;
    rows->data = markdown;
    markdown->count = markdown->drawn.len = 0;
    draw_draft(markdown);
    rows->on_row = given_to;
    rows->data = given_data;
    size_t first = markdown->count > rows->max_open ? markdown->count - rows->max_open : 0;
    for (size_t i = first; i < markdown->count; i++) {
        size_t from = i == 0 ? 0 : markdown->ends[i - 1];
        on_row(data, markdown->drawn.data + from, markdown->ends[i] - from);
    }
}

#include "terminal/markdown_blocks.h"

#include <string.h>

enum {
    CODE_INDENT = 4,
    WANT_FIRST = 64,       /* usually enough to see that a line is plain text */
    WANT_MORE = 1024,      /* a longer line is taken as plain text */
    WANT_CODE = 64 * 1024, /* a longer line of code is split */
    INFO_MAX = 32,         /* longer words after a fence are not shown */
    RULE_MAX = 40,
};

/* The line being taken. */
typedef struct {
    ik_markdown_cursor_t cursor;
    size_t matched; /* number of containers it is in */
    bool is_new;    /* it starts one of them */
    bool is_whole;
} line_t;

void ik_markdown_blocks_init(ik_markdown_blocks_t *blocks, const void *ctx,
                             ik_markdown_layout_t *layout, ik_markdown_table_t *table)
{
    *blocks = (ik_markdown_blocks_t){.layout = layout, .table = table};
    ik_buffer_init(&blocks->prose.source, ctx, IK_BUFFER_UNLIMITED); /* cut by markdown_prose.c */
}

static ik_markdown_rows_t *rows_of(const ik_markdown_blocks_t *blocks)
{
    return blocks->layout->rows;
}

/* --- the open block ---------------------------------------------------------------------- */

static bool is_paragraph(const ik_markdown_blocks_t *blocks)
{
    return blocks->leaf == IK_MARKDOWN_PROSE && blocks->prose.level == 0;
}

bool ik_markdown_blocks_is_code(const ik_markdown_blocks_t *blocks)
{
    return blocks->leaf == IK_MARKDOWN_FENCE || blocks->leaf == IK_MARKDOWN_INDENTED;
}

static void begin_leaf(ik_markdown_blocks_t *blocks, ik_markdown_leaf_t leaf)
{
    ik_markdown_margin_t *margin = &blocks->margin;
    for (size_t i = 0; i < margin->depth; i++) {
        margin->containers[i].is_empty = false;
    }
    ik_markdown_margin_begin_block(margin);
    blocks->leaf = leaf;
}

static void end_leaf(ik_markdown_blocks_t *blocks)
{
    if (blocks->leaf == IK_MARKDOWN_PROSE) {
        ik_markdown_prose_emit(&blocks->prose, &blocks->margin, blocks->layout);
    } else if (blocks->leaf == IK_MARKDOWN_TABLE) {
        ik_markdown_table_emit(blocks->table, &blocks->margin, rows_of(blocks));
    }
    blocks->margin.has_gap = blocks->margin.has_gap || blocks->blanks > 0;
    blocks->blanks = 0;
    blocks->leaf = IK_MARKDOWN_NOTHING;
}

/* Ends the open block and the containers that the line is not in, before another block starts. */
static void settle(ik_markdown_blocks_t *blocks, const line_t *line)
{
    end_leaf(blocks);
    ik_markdown_margin_leave(&blocks->margin, line->matched, rows_of(blocks));
}

/* --- code -------------------------------------------------------------------------------- */

static void emit_code(ik_markdown_blocks_t *blocks, size_t spaces, const char *text, size_t len)
{
    ik_markdown_rows_t *rows = rows_of(blocks);
    ik_markdown_margin_begin_code(&blocks->margin, rows);
    ik_markdown_rows_pad(rows, spaces);
    if (blocks->is_diff) {
        ik_code_rows_add_diff(&blocks->diff, &rows->row, text, len);
    } else {
        ik_code_rows_add(&blocks->code, &rows->row, text, len);
    }
    ik_markdown_rows_emit(rows);
}

/* Emits the rest of the line, less at most `indent` columns of white space. */
static void emit_code_line(ik_markdown_blocks_t *blocks, line_t *line, size_t indent)
{
    ik_markdown_cursor_t *cursor = &line->cursor;
    for (; blocks->blanks > 0; blocks->blanks--) {
        emit_code(blocks, 0, "", 0);
    }
    ik_markdown_cursor_skip(cursor, indent);
    emit_code(blocks, cursor->spare, cursor->text + cursor->at, cursor->len - cursor->at);
    blocks->is_line_open = !line->is_whole;
}

static void begin_code(ik_markdown_blocks_t *blocks, const line_t *line, ik_markdown_leaf_t leaf,
                       const char *info, size_t info_len)
{
    ik_markdown_rows_t *rows = rows_of(blocks);
    settle(blocks, line);
    begin_leaf(blocks, leaf);
    ik_code_rows_init(&blocks->code, rows->theme, ik_code_colour_find(info, info_len));
    blocks->is_diff = ik_code_rows_is_diff_name(info, info_len);
    blocks->diff = (ik_patch_place_t){0};
    ik_markdown_margin_begin_code(&blocks->margin, rows);
    if (info_len > 0 && info_len <= INFO_MAX) {
        ik_row_add(&rows->row, ik_theme_style(rows->theme, IK_ROLE_DIM), info, info_len);
        ik_markdown_rows_emit(rows);
    }
}

static void take_fence_line(ik_markdown_blocks_t *blocks, line_t *line)
{
    ik_markdown_cursor_t inside = line->cursor;
    size_t indent = ik_markdown_cursor_indent(&inside);
    ik_markdown_cursor_skip(&inside, indent);
    if (indent < CODE_INDENT && line->is_whole &&
        ik_markdown_line_closes(inside.text + inside.at, inside.len - inside.at, &blocks->fence)) {
        end_leaf(blocks);
    } else {
        emit_code_line(blocks, line, blocks->fence_indent);
    }
}

/* Returns false if the line is not code, and ends the code. */
static bool take_code_line(ik_markdown_blocks_t *blocks, line_t *line)
{
    bool is_inside = line->matched == blocks->margin.depth;
    if (is_inside && blocks->leaf == IK_MARKDOWN_FENCE) {
        take_fence_line(blocks, line);
    } else if (is_inside && ik_markdown_cursor_is_blank(&line->cursor)) {
        blocks->blanks++;
    } else if (is_inside && ik_markdown_cursor_indent(&line->cursor) >= CODE_INDENT) {
        emit_code_line(blocks, line, CODE_INDENT);
    } else {
        end_leaf(blocks);
        return false;
    }
    return true;
}

/* --- containers -------------------------------------------------------------------------- */

static bool skip_quote_mark(ik_markdown_cursor_t *cursor)
{
    ik_markdown_cursor_t ahead = *cursor;
    ik_markdown_cursor_skip(&ahead, SIZE_MAX);
    if (ik_markdown_cursor_indent(cursor) >= CODE_INDENT || ahead.at == ahead.len ||
        ahead.text[ahead.at] != '>') {
        return false;
    }
    *cursor = ahead;
    ik_markdown_cursor_advance(cursor, 1);
    ik_markdown_cursor_skip(cursor, 1);
    return true;
}

static bool is_in_container(const ik_markdown_container_t *container, ik_markdown_cursor_t *cursor)
{
    if (container->is_quote) {
        return skip_quote_mark(cursor);
    }
    if (ik_markdown_cursor_is_blank(cursor)) {
        return !container->is_empty;
    }
    if (ik_markdown_cursor_indent(cursor) < container->indent) {
        return false;
    }
    ik_markdown_cursor_skip(cursor, container->indent);
    return true;
}

/* Whether the line continues the open paragraph unless it starts a block. */
static bool touches_paragraph(const ik_markdown_blocks_t *blocks, const line_t *line)
{
    return is_paragraph(blocks) && !line->is_new && line->matched == blocks->margin.depth;
}

static bool begin_quote(ik_markdown_blocks_t *blocks, line_t *line)
{
    if (line->matched == IK_MARKDOWN_MARGIN_DEPTH || !skip_quote_mark(&line->cursor)) {
        return false;
    }
    settle(blocks, line);
    ik_markdown_margin_push_quote(&blocks->margin);
    return true;
}

/* Takes the [ ] or [x] of a task from the start of an item. Returns NUL if there is none. */
static char take_task(ik_markdown_cursor_t *cursor)
{
    const char *text = cursor->text + cursor->at;
    size_t len = cursor->len - cursor->at;
    if (len < 4 || text[0] != '[' || text[2] != ']' || text[3] != ' ' ||
        memchr(" xX", text[1], 3) == NULL) {
        return '\0';
    }
    ik_markdown_cursor_advance(cursor, 3);
    ik_markdown_cursor_skip(cursor, 1);
    return text[1] == ' ' ? ' ' : 'x';
}

static bool begin_item(ik_markdown_blocks_t *blocks, line_t *line)
{
    ik_markdown_cursor_t after = line->cursor; /* the marker */
    size_t indent = ik_markdown_cursor_indent(&after);
    ik_markdown_marker_t marker;
    ik_markdown_cursor_skip(&after, indent);
    if (line->matched == IK_MARKDOWN_MARGIN_DEPTH || indent >= CODE_INDENT ||
        !ik_markdown_line_marker(after.text + after.at, after.len - after.at, &marker)) {
        return false;
    }
    ik_markdown_cursor_advance(&after, marker.len);
    bool is_number = marker.mark == '.' || marker.mark == ')';
    if (touches_paragraph(blocks, line) &&
        (ik_markdown_cursor_is_blank(&after) || (is_number && marker.number != 1))) {
        return false;
    }
    ik_markdown_container_t sibling = {0};
    if (line->matched < blocks->margin.depth) {
        sibling = blocks->margin.containers[line->matched];
    }
    bool is_same = !sibling.is_quote && sibling.mark == marker.mark;
    settle(blocks, line);
    ik_markdown_container_t *item =
        ik_markdown_margin_push_item(&blocks->margin, &marker, is_same ? &sibling : NULL);
    /* The content of the item, and so all its lines, are indented as far as its first line. */
    size_t gap = ik_markdown_cursor_indent(&after);
    gap = gap <= CODE_INDENT && !ik_markdown_cursor_is_blank(&after) ? gap : 1;
    item->indent = indent + marker.len + gap;
    ik_markdown_cursor_skip(&after, gap);
    item->task = take_task(&after);
    line->cursor = after;
    return true;
}

/* --- lines ------------------------------------------------------------------------------- */

/* The text of a line without leading white space. */
typedef struct {
    const char *text;
    size_t len;
    size_t indent;
} words_t;

static words_t words_of(const line_t *line)
{
    ik_markdown_cursor_t cursor = line->cursor;
    words_t words = {.indent = ik_markdown_cursor_indent(&cursor)};
    ik_markdown_cursor_skip(&cursor, SIZE_MAX);
    words.text = cursor.text + cursor.at;
    words.len = cursor.len - cursor.at;
    return words;
}

static void begin_prose(ik_markdown_blocks_t *blocks, const line_t *line, int level)
{
    settle(blocks, line);
    begin_leaf(blocks, IK_MARKDOWN_PROSE);
    ik_markdown_prose_begin(&blocks->prose, level, blocks->layout);
}

static void add_line(ik_markdown_blocks_t *blocks, const line_t *line, const char *text, size_t len)
{
    ik_markdown_prose_add_line(&blocks->prose, text, len, &blocks->margin, blocks->layout);
    blocks->is_line_open = true;
    if (line->is_whole) {
        ik_markdown_blocks_end_line(blocks);
    }
}

/* Takes a line that turns the paragraph above into a heading or the head of a table. */
static bool take_underline(ik_markdown_blocks_t *blocks, const line_t *line, words_t words)
{
    ik_markdown_prose_t *prose = &blocks->prose;
    if (!line->is_whole || words.indent >= CODE_INDENT || !touches_paragraph(blocks, line) ||
        prose->is_cut) {
        return false;
    }
    int level = ik_markdown_line_underline(words.text, words.len);
    size_t lead = sizeof(IK_MARKDOWN_INLINE_LEAD) - 1;
    if (level > 0) {
        prose->level = level;
        end_leaf(blocks);
        return true;
    }
    if (prose->lines == 1 &&
        ik_markdown_table_begin(blocks->table, prose->source.data + lead, prose->source.len - lead,
                                words.text, words.len, &blocks->margin, rows_of(blocks))) {
        blocks->leaf = IK_MARKDOWN_TABLE;
        return true;
    }
    return false;
}

static bool take_heading(ik_markdown_blocks_t *blocks, const line_t *line, words_t words)
{
    int level = ik_markdown_line_heading(words.text, words.len);
    if (words.indent >= CODE_INDENT || level == 0) {
        return false;
    }
    begin_prose(blocks, line, level);
    size_t from = (size_t)level;
    while (from < words.len && (words.text[from] == ' ' || words.text[from] == '\t')) {
        from++;
    }
    add_line(blocks, line, words.text + from, words.len - from);
    return true;
}

static bool take_fence(ik_markdown_blocks_t *blocks, const line_t *line, words_t words)
{
    ik_markdown_fence_t fence;
    if (!line->is_whole || words.indent >= CODE_INDENT ||
        !ik_markdown_line_fence(words.text, words.len, &fence)) {
        return false;
    }
    begin_code(blocks, line, IK_MARKDOWN_FENCE, fence.info, fence.info_len);
    blocks->fence = fence;
    blocks->fence.info = NULL;
    blocks->fence_indent = words.indent;
    return true;
}

static bool is_rule(const line_t *line, words_t words)
{
    return line->is_whole && words.indent < CODE_INDENT &&
           ik_markdown_line_is_rule(words.text, words.len);
}

static bool take_rule(ik_markdown_blocks_t *blocks, const line_t *line, words_t words)
{
    ik_markdown_rows_t *rows = rows_of(blocks);
    if (!is_rule(line, words)) {
        return false;
    }
    settle(blocks, line);
    begin_leaf(blocks, IK_MARKDOWN_NOTHING);
    size_t room = ik_markdown_margin_room(&blocks->margin, rows);
    ik_markdown_margin_begin_row(&blocks->margin, rows);
    ik_markdown_rows_repeat(rows, IK_ROLE_RULE, "─", room < RULE_MAX ? room : RULE_MAX);
    ik_markdown_rows_emit(rows);
    return true;
}

static bool take_indented(ik_markdown_blocks_t *blocks, line_t *line, words_t words)
{
    if (!line->is_whole || words.indent < CODE_INDENT || (is_paragraph(blocks) && !line->is_new)) {
        return false;
    }
    begin_code(blocks, line, IK_MARKDOWN_INDENTED, "", 0);
    emit_code_line(blocks, line, CODE_INDENT);
    return true;
}

static bool take_table_row(ik_markdown_blocks_t *blocks, const line_t *line, words_t words)
{
    if (blocks->leaf != IK_MARKDOWN_TABLE || !line->is_whole || line->is_new ||
        line->matched < blocks->margin.depth || !ik_markdown_table_is_row(words.text, words.len)) {
        return false;
    }
    ik_markdown_table_add(blocks->table, words.text, words.len, &blocks->margin, rows_of(blocks));
    return true;
}

static void take_block(ik_markdown_blocks_t *blocks, line_t *line)
{
    if (take_underline(blocks, line, words_of(line))) {
        return;
    }
    while (!is_rule(line, words_of(line)) &&
           (begin_quote(blocks, line) || begin_item(blocks, line))) {
        line->is_new = true;
        line->matched = blocks->margin.depth;
    }
    words_t words = words_of(line);
    if (words.len == 0 || take_heading(blocks, line, words) || take_fence(blocks, line, words) ||
        take_rule(blocks, line, words) || take_indented(blocks, line, words) ||
        take_table_row(blocks, line, words)) {
        return;
    }
    /* A paragraph continues even where the marks of its containers are missing. */
    if (!is_paragraph(blocks) || line->is_new) {
        begin_prose(blocks, line, 0);
    }
    add_line(blocks, line, words.text, words.len);
}

/* --- interface --------------------------------------------------------------------------- */

/* Whether a line is plain text (or a list marker and text) whatever follows: it contains a letter
 * and is not a fence, whose info string may contain one. */
static bool is_plain_text(const char *line, size_t len)
{
    bool has_letter = false;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)line[i] | 0x20;
        has_letter = has_letter || (c >= 'a' && c <= 'z') || (unsigned char)line[i] >= 0x80;
    }
    return has_letter && memmem(line, len, "```", 3) == NULL && memmem(line, len, "~~~", 3) == NULL;
}

size_t ik_markdown_blocks_want(const ik_markdown_blocks_t *blocks, const char *line, size_t len)
{
    if (ik_markdown_blocks_is_code(blocks)) {
        return WANT_CODE;
    }
    if (blocks->leaf == IK_MARKDOWN_TABLE) {
        return IK_MARKDOWN_TABLE_LINE_MAX;
    }
    return len < WANT_FIRST || is_plain_text(line, WANT_FIRST) ? WANT_FIRST : WANT_MORE;
}

void ik_markdown_blocks_take(ik_markdown_blocks_t *blocks, const char *text, size_t len,
                             bool is_whole)
{
    line_t line = {.is_whole = is_whole};
    ik_markdown_cursor_init(&line.cursor, text, len);
    if (blocks->is_line_open) { /* a further part of a long line of code */
        emit_code_line(blocks, &line, 0);
        return;
    }
    while (line.matched < blocks->margin.depth &&
           is_in_container(&blocks->margin.containers[line.matched], &line.cursor)) {
        line.matched++;
    }
    if (ik_markdown_blocks_is_code(blocks) && take_code_line(blocks, &line)) {
        return;
    }
    if (ik_markdown_cursor_is_blank(&line.cursor)) {
        settle(blocks, &line);
        blocks->margin.has_gap = true;
    } else {
        take_block(blocks, &line);
    }
}

bool ik_markdown_blocks_goes_on(const ik_markdown_blocks_t *blocks)
{
    return blocks->is_line_open && blocks->leaf == IK_MARKDOWN_PROSE;
}

void ik_markdown_blocks_go_on(ik_markdown_blocks_t *blocks, const char *text, size_t len)
{
    ik_markdown_prose_add(&blocks->prose, text, len, &blocks->margin, blocks->layout);
}

void ik_markdown_blocks_end_line(ik_markdown_blocks_t *blocks)
{
    blocks->is_line_open = false;
    if (blocks->leaf == IK_MARKDOWN_PROSE && blocks->prose.level > 0) {
        ik_buffer_t *source = &blocks->prose.source;
        size_t from = sizeof(IK_MARKDOWN_INLINE_LEAD) - 1;
        ik_markdown_line_trim_heading(source->data, &from, &source->len);
        end_leaf(blocks);
    }
}

void ik_markdown_blocks_end(ik_markdown_blocks_t *blocks)
{
    ik_markdown_blocks_end_line(blocks);
    blocks->blanks = 0;
    end_leaf(blocks);
    ik_markdown_margin_leave(&blocks->margin, 0, rows_of(blocks));
}

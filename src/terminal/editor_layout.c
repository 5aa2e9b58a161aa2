/*
 * Rows of the draft. A row ends after its newline or where it is full: before the word that does
 * not fit, or inside it if the word fills the row alone. A row may also break before and after wide
 * characters and labels. One blank may hang over the end of a full row, invisible, so that the next
 * row starts with a word.
 *
 * A row depends on nothing before its start, and its end depends on nothing after the first
 * grapheme that did not fit. That grapheme is always in the next row, because only words of narrow
 * characters are carried over, and such a word fits into a row. So a change affects its own row,
 * the row before it and those that follow; these are computed only as far as they are visible.
 */
#include <string.h>

#include "base/alloc.h"
#include "terminal/editor_state.h"

enum { TAB_COLUMNS = 4 };

/* --- pieces ------------------------------------------------------------------------------ */

/* The grapheme or mark at an offset, with the columns it takes in this column, at most a row. */
static ik_grapheme_t measure(const ik_editor_t *editor, size_t at, int column)
{
    const char *text = editor->text.data + at;
    if (text[0] >= ' ' && (unsigned char)text[1] < 0x80) { /* text ends with a NUL */
        return (ik_grapheme_t){.len = 1, .columns = 1};
    }
    ik_grapheme_t piece = ik_editor_text_piece(editor, at);
    size_t columns = (size_t)piece.columns;
    if (text[0] == '\n') {
        columns = 0;
    } else if (text[0] == '\t') {
        columns = (size_t)(TAB_COLUMNS - column % TAB_COLUMNS);
    } else if (ik_editor_text_is_mark(editor, at)) {
        const char *label = ik_pastes_label(editor->pastes, text);
        columns = ik_width(label, strlen(label));
    }
    size_t max = (size_t)editor->rows.columns;
    piece.columns = (int)(columns < max ? columns : max);
    return piece;
}

/* --- where rows begin -------------------------------------------------------------------- */

/* Finds the end of the row that begins at start. Returns false if it is the last row. */
static bool find_row_end(const ik_editor_t *editor, size_t start, size_t *end)
{
    const char *text = editor->text.data;
    int width = 0;
    size_t breakable = start;
    size_t at = start;
    while (at < editor->text.len) {
        ik_grapheme_t piece = measure(editor, at, width);
        bool blank = text[at] == ' ' || text[at] == '\t';
        breakable = piece.columns > 1 && !blank ? at : breakable;
        if (width + piece.columns > editor->rows.columns) {
            *end = breakable > start ? breakable : at;
            if (blank) { /* it hangs over, with the newline if one follows */
                *end = at + piece.len;
                *end += *end < editor->text.len && text[*end] == '\n';
            }
            return true;
        }
        if (text[at] == '\n') {
            *end = at + 1;
            return true;
        }
        width += piece.columns;
        at += piece.len;
        breakable = piece.columns > 1 || blank ? at : breakable;
    }
    *end = at;
    return false;
}

static void add_start(ik_editor_t *editor, size_t start)
{
    ik_editor_rows_t *rows = &editor->rows;
    if (rows->count == rows->capacity) {
        rows->capacity = rows->capacity == 0 ? 64 : 2 * rows->capacity;
        rows->starts = ik_resize_array(editor, rows->starts, size_t, rows->capacity);
    }
    rows->starts[rows->count++] = start;
}

/* Computes one more row. Returns false if there is none. */
static bool find_next(ik_editor_t *editor)
{
    ik_editor_rows_t *rows = &editor->rows;
    if (rows->count == 0) {
        add_start(editor, 0);
        return true;
    }
    size_t end;
    if (rows->complete || !find_row_end(editor, rows->starts[rows->count - 1], &end)) {
        rows->complete = true;
        return false;
    }
    add_start(editor, end);
    return true;
}

static bool has_row(ik_editor_t *editor, size_t row)
{
    while (editor->rows.count <= row) {
        if (!find_next(editor)) {
            return false;
        }
    }
    return true;
}

/* The last known row that starts at or before at. */
static size_t search(const ik_editor_rows_t *rows, size_t at)
{
    size_t low = 0;
    size_t high = rows->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(rows->starts[middle] <= at ? &low : &high) = middle;
    }
    return low;
}

static size_t row_of(ik_editor_t *editor, size_t at)
{
    ik_editor_rows_t *rows = &editor->rows;
    while (rows->count == 0 || rows->starts[rows->count - 1] <= at) {
        if (!find_next(editor)) {
            break;
        }
    }
    return search(rows, at);
}

/* A change may also alter the grapheme before it. */
void ik_editor_layout_forget(ik_editor_t *editor, size_t at)
{
    ik_editor_rows_t *rows = &editor->rows;
    size_t row = search(rows, at > 0 ? at - 1 : 0);
    size_t kept = row > 0 ? row : 1;
    rows->count = rows->count < kept ? rows->count : kept;
    rows->complete = false;
}

/* --- columns ----------------------------------------------------------------------------- */

static int column_of(const ik_editor_t *editor, size_t start, size_t at)
{
    int column = 0;
    while (start < at) {
        ik_grapheme_t piece = measure(editor, start, column);
        column += piece.columns;
        start += piece.len;
    }
    return column < editor->rows.columns ? column : editor->rows.columns;
}

/* The offset in a row that is closest to the wanted column without passing it. */
static size_t offset_in_row(ik_editor_t *editor, size_t row, int wanted)
{
    size_t at = editor->rows.starts[row];
    size_t end = has_row(editor, row + 1) ? editor->rows.starts[row + 1] : editor->text.len + 1;
    int column = 0;
    while (at < editor->text.len && editor->text.data[at] != '\n') {
        ik_grapheme_t piece = measure(editor, at, column);
        column += piece.columns;
        if (column > wanted || at + piece.len >= end) {
            break;
        }
        at += piece.len;
    }
    return at;
}

bool ik_editor_layout_step(ik_editor_t *editor, int direction)
{
    size_t row = row_of(editor, editor->cursor);
    if (direction < 0 ? row == 0 : !has_row(editor, row + 1)) {
        return false;
    }
    if (editor->last_action != IK_EDITOR_ACTION_VERTICAL) {
        editor->wanted_column = column_of(editor, editor->rows.starts[row], editor->cursor);
    }
    editor->action = IK_EDITOR_ACTION_VERTICAL;
    size_t target = direction < 0 ? row - 1 : row + 1;
    editor->cursor = offset_in_row(editor, target, editor->wanted_column);
    return true;
}

/* --- visible rows ------------------------------------------------------------------------ */

/* Scrolls as little as possible and leaves no empty row after the last one. */
static void scroll(ik_editor_t *editor, size_t cursor_row, size_t max_rows)
{
    ik_editor_rows_t *rows = &editor->rows;
    rows->top = rows->top < cursor_row ? rows->top : cursor_row;
    if (cursor_row - rows->top >= max_rows) {
        rows->top = cursor_row - max_rows + 1;
    }
    if (!has_row(editor, rows->top + max_rows - 1)) {
        rows->top = rows->count > max_rows ? rows->count - max_rows : 0;
    }
}

ik_editor_layout_t ik_editor_layout(ik_editor_t *editor, int columns, int max_rows)
{
    size_t max = max_rows < 1 ? 1 : (size_t)max_rows;
    ik_editor_rows_t *rows = &editor->rows;
    columns = columns < 1 ? 1 : columns;
    if (rows->columns != columns) {
        rows->columns = columns;
        rows->count = 0;
        rows->complete = false;
    }
    size_t cursor_row = row_of(editor, editor->cursor);
    scroll(editor, cursor_row, max);
    bool below = has_row(editor, rows->top + max);
    return (ik_editor_layout_t){
        .rows = (int)(below ? max : rows->count - rows->top),
        .cursor_row = (int)(cursor_row - rows->top),
        .cursor_column = column_of(editor, rows->starts[cursor_row], editor->cursor),
        .above = rows->top > 0,
        .below = below,
    };
}

/* --- drawing ----------------------------------------------------------------------------- */

/* Whether a piece is drawn by draw_special: a tab, a mark, or a character wider than the window. */
static bool is_special(const ik_editor_t *editor, size_t at, ik_grapheme_t piece)
{
    return editor->text.data[at] == '\t' || ik_editor_text_is_mark(editor, at) ||
           piece.columns < ik_editor_text_piece(editor, at).columns;
}

static void draw_special(const ik_editor_t *editor, size_t at, ik_grapheme_t piece, ik_row_t *row)
{
    if (editor->text.data[at] == '\t') {
        ik_row_add_format(row, IK_ROLE_TEXT, "%*s", piece.columns, "");
    } else if (ik_editor_text_is_mark(editor, at)) {
        ik_buffer_t label;
        ik_buffer_init(&label, NULL, IK_BUFFER_UNLIMITED); /* bounded by the columns */
        ik_width_append(&label, ik_pastes_label(editor->pastes, editor->text.data + at),
                        (size_t)editor->rows.columns, IK_WIDTH_KEEP_START);
        ik_row_add_role(row, IK_ROLE_DIM, label.data);
        ik_buffer_reset(&label);
    } else {
        ik_row_add_role(row, IK_ROLE_TEXT, "…");
    }
}

static bool is_joiner(const char *text, size_t len)
{
    return len >= 3 && (memcmp(text, "\u200c", 3) == 0 || memcmp(text, "\u200d", 3) == 0);
}

/* Appends a grapheme without its orphaned joiners. */
static void append_grapheme(ik_buffer_t *out, const char *text, size_t len)
{
    while (len >= 3 && is_joiner(text + len - 3, 3)) {
        len -= 3;
    }
    bool whole = ik_sanitise_is_clean(text, len);
    for (size_t at = 0; at < len;) {
        bool orphan = !whole && is_joiner(text + at, len - at);
        ik_buffer_append(out, text + at, orphan ? 0 : 1);
        at += orphan ? 3 : 1;
    }
}

/* A joiner is orphaned when a deletion or the end of a row separates it from what it joined. It
 * takes no column here, but a row would write it out as text. */
static void draw_without_orphans(const char *text, size_t len, ik_row_t *row)
{
    ik_buffer_t kept;
    ik_buffer_init(&kept, NULL, IK_BUFFER_UNLIMITED); /* bounded by the row */
    for (size_t at = 0, step; at < len; at += step) {
        step = ik_width_grapheme(text + at, len - at).len;
        append_grapheme(&kept, text + at, step);
    }
    ik_row_add(row, ik_theme_style(row->theme, IK_ROLE_TEXT), kept.data, kept.len);
    ik_buffer_reset(&kept);
}

static void draw_text(const ik_editor_t *editor, size_t from, size_t to, ik_row_t *row)
{
    const char *text = editor->text.data + from;
    if (from == to) {
        return;
    }
    if (ik_sanitise_is_clean(text, to - from)) {
        ik_row_add(row, ik_theme_style(row->theme, IK_ROLE_TEXT), text, to - from);
    } else {
        draw_without_orphans(text, to - from, row);
    }
}

void ik_editor_draw(const ik_editor_t *editor, int index, ik_row_t *row)
{
    const ik_editor_rows_t *rows = &editor->rows;
    size_t number = rows->top + (size_t)index;
    size_t at = rows->starts[number];
    size_t end = number + 1 < rows->count ? rows->starts[number + 1] : editor->text.len;
    size_t pending = at; /* start of the plain text not yet drawn */
    int column = 0;
    while (at < end && editor->text.data[at] != '\n') {
        ik_grapheme_t piece = measure(editor, at, column);
        if (column + piece.columns > rows->columns) {
            break; /* a hanging blank */
        }
        if (is_special(editor, at, piece)) {
            draw_text(editor, pending, at, row);
            draw_special(editor, at, piece, row);
            pending = at + piece.len;
        }
        column += piece.columns;
        at += piece.len;
    }
    draw_text(editor, pending, at, row);
}

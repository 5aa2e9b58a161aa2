#include "terminal/markdown_table.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "terminal/markdown_wrap.h"

enum {
    GAP = 2,          /* screen columns between two columns */
    ROWS_MAX = 1000,  /* held back, whatever the caller allows */
    TEXT_MAX = 65536, /* bytes held back */
};

typedef enum { LEFT, RIGHT, CENTRE } align_t;

/* A range of a line or of the flat text. */
typedef struct {
    size_t from;
    size_t to;
    size_t run; /* of the flat text: a run at or before its first one */
} cell_t;

typedef struct {
    size_t columns;
    align_t align[IK_MARKDOWN_TABLE_COLUMNS];
    size_t natural[IK_MARKDOWN_TABLE_COLUMNS]; /* width of the widest cell so far */
    size_t widths[IK_MARKDOWN_TABLE_COLUMNS];
    size_t cells; /* held back */
    size_t height;
    bool is_head_done; /* emitted */
    bool is_fixed;     /* the widths do not change any more */
    ik_markdown_inline_mark_t text;
} state_t;

struct ik_markdown_table {
    state_t state;
    state_t saved;
    ik_markdown_inline_t flat;
    cell_t *cells;
    size_t capacity;
    ik_buffer_t source; /* of a cell */
};

ik_markdown_table_t *ik_markdown_table_create(const void *ctx, const ik_theme_t *theme)
{
    ik_markdown_table_t *table = ik_new(ctx, ik_markdown_table_t);
    ik_markdown_inline_init(&table->flat, table, theme);
    ik_buffer_init(&table->source, table, IK_BUFFER_UNLIMITED); /* bounded by the line */
    return table;
}

void ik_markdown_table_save(ik_markdown_table_t *table)
{
    table->saved = table->state;
    table->saved.text = ik_markdown_inline_mark(&table->flat);
}

void ik_markdown_table_restore(ik_markdown_table_t *table)
{
    table->state = table->saved;
    ik_markdown_inline_rewind(&table->flat, table->saved.text);
}

/* --- lines to cells ---------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static cell_t trim(const char *line, size_t from, size_t to)
{
    while (from < to && is_blank(line[from])) {
        from++;
    }
    while (to > from && is_blank(line[to - 1])) {
        to--;
    }
    return (cell_t){.from = from, .to = to};
}

/* Returns the end of the code span that starts at from, or of its backticks if it has no end. A bar
 * in a code span does not separate cells. */
static size_t skip_code(const char *line, size_t from, size_t len)
{
    size_t open = ik_markdown_line_count_same(line + from, len - from, '`');
    for (size_t at = from + open; at < len;) {
        size_t close = ik_markdown_line_count_same(line + at, len - at, '`');
        if (close == open) {
            return at + close;
        }
        at += close > 0 ? close : 1;
    }
    return from + open;
}

static size_t end_of_cell(const char *line, size_t from, size_t len)
{
    for (size_t at = from; at < len;) {
        if (line[at] == '|') {
            return at;
        }
        if (line[at] == '`') {
            at = skip_code(line, at, len);
        } else {
            at += line[at] == '\\' && at + 1 < len ? 2 : 1;
        }
    }
    return len;
}

/* Stores the first max cells of a line and returns the number of all. */
static size_t split(const char *line, size_t len, cell_t *cells, size_t max)
{
    cell_t whole = trim(line, 0, len);
    size_t at = whole.from + (whole.from < whole.to && line[whole.from] == '|');
    size_t count = 0;
    while (at < whole.to) {
        size_t end = end_of_cell(line, at, whole.to);
        if (count < max) {
            cells[count] = trim(line, at, end);
        }
        count++;
        at = end + 1;
    }
    return count;
}

bool ik_markdown_table_is_row(const char *line, size_t len)
{
    return memchr(line, '|', len) != NULL;
}

/* --- begin ------------------------------------------------------------------------------- */

/* Parses the line of :--, :-:, --: or --- below the head. Returns the number of columns, or 0. */
static size_t parse_aligns(state_t *state, const char *line, size_t len)
{
    cell_t cells[IK_MARKDOWN_TABLE_COLUMNS];
    size_t count = split(line, len, cells, IK_MARKDOWN_TABLE_COLUMNS);
    if (!ik_markdown_table_is_row(line, len) || count > IK_MARKDOWN_TABLE_COLUMNS) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        const char *text = line + cells[i].from;
        size_t text_len = cells[i].to - cells[i].from;
        bool left = text_len > 0 && text[0] == ':';
        bool right = text_len > 1 && text[text_len - 1] == ':';
        size_t dashes = text_len - left - right;
        if (dashes == 0 || ik_markdown_line_count_same(text + left, dashes, '-') != dashes) {
            return 0;
        }
        state->align[i] = left && right ? CENTRE : right ? RIGHT : LEFT;
    }
    return count;
}

/* An escaped bar loses its backslash, also in code. */
static void add_cell(ik_markdown_table_t *table, const char *text, size_t len, ik_style_t style)
{
    ik_buffer_t *source = &table->source;
    source->len = 0;
    ik_buffer_append_text(source, IK_MARKDOWN_INLINE_LEAD);
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '\\' || i + 1 == len || text[i + 1] != '|') {
            ik_buffer_append_byte(source, text[i]);
        }
    }
    if (table->state.cells == table->capacity) {
        table->capacity = table->capacity == 0 ? 64 : table->capacity * 2;
        table->cells = ik_resize_array(table, table->cells, cell_t, table->capacity);
    }
    cell_t cell = {.from = table->flat.text.len};
    cell.run = table->flat.count == 0 ? 0 : table->flat.count - 1;
    ik_markdown_inline_parse(&table->flat, source->data, source->len, style);
    cell.to = table->flat.text.len;
    table->cells[table->state.cells++] = cell;
}

static size_t count_lines(const ik_markdown_table_t *table, cell_t cell, size_t width,
                          size_t *widest)
{
    ik_markdown_wrap_t wrap;
    ik_markdown_wrap_init(&wrap, table->flat.text.data, cell.from, cell.to, width);
    return ik_markdown_wrap_count(wrap, widest);
}

static void add_cells(ik_markdown_table_t *table, const char *line, size_t len, ik_style_t style)
{
    cell_t cells[IK_MARKDOWN_TABLE_COLUMNS];
    size_t count = split(line, len, cells, table->state.columns);
    for (size_t i = 0; i < table->state.columns; i++) {
        cell_t cell = i < count ? cells[i] : (cell_t){0};
        add_cell(table, line + cell.from, cell.to - cell.from, style);
        size_t widest;
        count_lines(table, table->cells[table->state.cells - 1], SIZE_MAX, &widest);
        if (widest > table->state.natural[i]) {
            table->state.natural[i] = widest;
        }
    }
}

bool ik_markdown_table_begin(ik_markdown_table_t *table, const char *head, size_t head_len,
                             const char *line, size_t len, const ik_markdown_margin_t *margin,
                             const ik_markdown_rows_t *rows)
{
    enum { NARROWEST = 2 + GAP };
    state_t state = {0};
    state.columns = parse_aligns(&state, line, len);
    if (state.columns == 0 || head_len > IK_MARKDOWN_TABLE_LINE_MAX ||
        split(head, head_len, NULL, 0) != state.columns ||
        state.columns * NARROWEST > ik_markdown_margin_room(margin, rows) + GAP) {
        return false;
    }
    table->state = state;
    ik_markdown_inline_clear(&table->flat);
    add_cells(table, head, head_len, ik_theme_style(rows->theme, IK_ROLE_STRONG));
    table->state.height = 2;
    return true;
}

/* --- widths ------------------------------------------------------------------------------ */

/* Columns that need no more than an equal share keep their width; the others share the rest. */
static void share(state_t *state, size_t room)
{
    size_t left = state->columns;
    bool found = true;
    memset(state->widths, 0, sizeof(state->widths));
    while (found && left > 0) {
        found = false;
        size_t fair = room / left;
        for (size_t i = 0; i < state->columns; i++) {
            size_t width = state->natural[i] == 0 ? 1 : state->natural[i];
            if (state->widths[i] == 0 && width <= fair) {
                state->widths[i] = width;
                room -= width;
                left--;
                found = true;
            }
        }
    }
    for (size_t i = 0; i < state->columns; i++) {
        if (state->widths[i] == 0) {
            state->widths[i] = room / left == 0 ? 1 : room / left;
            room -= room / left;
            left--;
        }
    }
}

static size_t room_for_cells(const state_t *state, const ik_markdown_margin_t *margin,
                             const ik_markdown_rows_t *rows)
{
    size_t room = ik_markdown_margin_room(margin, rows);
    size_t gaps = GAP * (state->columns - 1);
    return room > gaps ? room - gaps : 1;
}

/* Fixes the widths of a table whose end is not known. Later cells may be wider than those so far,
 * so each column gets a reserve: from the free room or, if there is none, from the widest column,
 * which has wrapped cells anyway. What is left goes to that column, or to the last one, which
 * usually has the longest cells. */
static void fix_widths(state_t *state, size_t room)
{
    size_t used = 0;
    size_t widest = 0;
    for (size_t i = 0; i < state->columns; i++) {
        used += state->widths[i];
        widest = state->widths[i] > state->widths[widest] ? i : widest;
    }
    bool wraps = state->widths[widest] < state->natural[widest];
    size_t taker = wraps ? widest : state->columns - 1;
    size_t spare = wraps ? state->widths[widest] / 4 : room > used ? room - used : 0;
    size_t share_max = spare / state->columns;
    state->widths[taker] += wraps ? 0 : spare;
    for (size_t i = 0; i < state->columns; i++) {
        size_t reserve = 2 + state->widths[i] / 2;
        reserve = reserve < share_max ? reserve : share_max;
        if (i != taker) {
            state->widths[i] += reserve;
            state->widths[taker] -= reserve;
        }
    }
    state->is_fixed = true;
}

/* --- cells to rows ----------------------------------------------------------------------- */

static void emit_rule(const state_t *state, ik_markdown_margin_t *margin, ik_markdown_rows_t *rows)
{
    ik_markdown_margin_begin_row(margin, rows);
    for (size_t i = 0; i < state->columns; i++) {
        size_t natural = state->natural[i] == 0 ? 1 : state->natural[i];
        size_t width = natural < state->widths[i] ? natural : state->widths[i];
        bool is_last = i + 1 == state->columns;
        ik_markdown_rows_repeat(rows, IK_ROLE_RULE, "─", is_last ? width : state->widths[i]);
        ik_markdown_rows_pad(rows, is_last ? 0 : GAP);
    }
    ik_markdown_rows_emit(rows);
}

/* Draws one line of a cell. Returns the spaces after it, to be drawn only if a cell follows. */
static size_t draw_line(const ik_markdown_table_t *table, ik_markdown_rows_t *rows, size_t column,
                        size_t run, const ik_markdown_wrap_line_t *line, size_t spaces)
{
    size_t width = table->state.widths[column];
    size_t free = width > line->width ? width - line->width : 0;
    align_t align = table->state.align[column];
    size_t before = align == RIGHT ? free : align == CENTRE ? free / 2 : 0;
    ik_markdown_rows_pad(rows, spaces + before);
    ik_markdown_inline_draw(&table->flat, run, line->from, line->to, &rows->row);
    return free - before + GAP;
}

/* Emits a row of cells, as many screen rows as the tallest cell has lines. */
static void emit_cells(const ik_markdown_table_t *table, const cell_t *cells,
                       ik_markdown_margin_t *margin, ik_markdown_rows_t *rows)
{
    const state_t *state = &table->state;
    ik_markdown_wrap_t wraps[IK_MARKDOWN_TABLE_COLUMNS];
    for (size_t i = 0; i < state->columns; i++) {
        ik_markdown_wrap_init(&wraps[i], table->flat.text.data, cells[i].from, cells[i].to,
                              state->widths[i]);
    }
    for (bool is_first = true, more = true; more; is_first = false) {
        ik_markdown_wrap_line_t lines[IK_MARKDOWN_TABLE_COLUMNS];
        bool has[IK_MARKDOWN_TABLE_COLUMNS];
        more = is_first;
        for (size_t i = 0; i < state->columns; i++) {
            has[i] = ik_markdown_wrap_next(&wraps[i], &lines[i]);
            more = more || has[i];
        }
        if (!more) {
            break;
        }
        size_t spaces = 0;
        ik_markdown_margin_begin_row(margin, rows);
        for (size_t i = 0; i < state->columns; i++) {
            spaces = has[i] ? draw_line(table, rows, i, cells[i].run, &lines[i], spaces)
                            : spaces + state->widths[i] + GAP;
        }
        ik_markdown_rows_emit(rows);
    }
}

void ik_markdown_table_emit(ik_markdown_table_t *table, ik_markdown_margin_t *margin,
                            ik_markdown_rows_t *rows)
{
    state_t *state = &table->state;
    if (!state->is_fixed) {
        share(state, room_for_cells(state, margin, rows));
    }
    for (size_t i = 0; i < state->cells; i += state->columns) {
        emit_cells(table, table->cells + i, margin, rows);
        if (!state->is_head_done) {
            emit_rule(state, margin, rows);
            state->is_head_done = true;
        }
    }
    state->cells = 0;
}

/* The height of the last row of cells at the current widths. */
static size_t height_of_last(ik_markdown_table_t *table)
{
    state_t *state = &table->state;
    size_t height = 1;
    for (size_t i = 0; i < state->columns; i++) {
        cell_t cell = table->cells[state->cells - state->columns + i];
        size_t widest;
        size_t lines = count_lines(table, cell, state->widths[i], &widest);
        height = lines > height ? lines : height;
    }
    return height;
}

void ik_markdown_table_add(ik_markdown_table_t *table, const char *line, size_t len,
                           ik_markdown_margin_t *margin, ik_markdown_rows_t *rows)
{
    state_t *state = &table->state;
    size_t most = rows->max_open < ROWS_MAX ? rows->max_open : ROWS_MAX;
    add_cells(table, line, len, ik_markdown_margin_style(margin, rows->theme));
    if (!state->is_fixed) {
        size_t room = room_for_cells(state, margin, rows);
        share(state, room);
        state->height += height_of_last(table);
        if (state->height <= most && table->flat.text.len <= TEXT_MAX) {
            return;
        }
        fix_widths(state, room);
    }
    ik_markdown_table_emit(table, margin, rows);
    ik_markdown_inline_clear(&table->flat);
}

#include "terminal/markdown_prose.h"

#include <string.h>

#include "base/alloc.h"

enum {
    LEAD_LEN = sizeof(IK_MARKDOWN_INLINE_LEAD) - 1,
    LONGEST_WORD = 256, /* a longer one is looked at before its end */
    MOST_ROWS = 1000,   /* that wait, whatever the caller allows */
};

/* --- layout ------------------------------------------------------------------------------ */

/* "## " before the words of a heading, and as much room below it. */
static size_t heading_mark(const ik_markdown_prose_t *prose)
{
    return prose->level == 0 ? 0 : (size_t)prose->level + 1;
}

static size_t room_for_words(const ik_markdown_prose_t *prose, const ik_markdown_margin_t *margin,
                             const ik_markdown_rows_t *rows)
{
    size_t room = ik_markdown_margin_room(margin, rows);
    size_t mark = heading_mark(prose);
    return room > mark ? room - mark : 1;
}

static ik_style_t style_of(const ik_markdown_prose_t *prose, const ik_markdown_margin_t *margin,
                           const ik_theme_t *theme)
{
    return prose->level > 0 ? ik_theme_style(theme, IK_ROLE_HEADING)
                            : ik_markdown_margin_style(margin, theme);
}

static void hold_line(ik_markdown_layout_t *layout, ik_markdown_wrap_line_t line)
{
    if (layout->count == layout->room) {
        layout->room = layout->room == 0 ? 32 : layout->room * 2;
        layout->lines = ik_resize_array(layout->flat.text.ctx, layout->lines,
                                        ik_markdown_wrap_line_t, layout->room);
    }
    layout->lines[layout->count++] = line;
}

static void lay_out(const ik_markdown_prose_t *prose, const ik_markdown_margin_t *margin,
                    ik_markdown_layout_t *layout)
{
    ik_markdown_inline_t *flat = &layout->flat;
    ik_markdown_wrap_t wrap;
    ik_markdown_wrap_line_t line;
    ik_markdown_inline_clear(flat);
    ik_markdown_inline_parse(flat, prose->source.data, prose->source.len,
                             style_of(prose, margin, layout->rows->theme));
    ik_markdown_wrap_init(&wrap, flat->text.data, 0, flat->text.len,
                          room_for_words(prose, margin, layout->rows));
    layout->count = 0;
    while (ik_markdown_wrap_next(&wrap, &line)) {
        hold_line(layout, line);
    }
}

static void add_heading_mark(ik_markdown_prose_t *prose, ik_markdown_rows_t *rows)
{
    size_t mark = heading_mark(prose);
    if (mark > 0 && !prose->is_cut) {
        ik_markdown_rows_repeat(rows, IK_ROLE_DIM, "#", mark - 1);
        mark = 1;
    }
    ik_markdown_rows_pad(rows, mark);
}

static void give_lines(ik_markdown_prose_t *prose, ik_markdown_margin_t *margin,
                       ik_markdown_layout_t *layout, size_t count)
{
    size_t run = 0;
    for (size_t i = 0; i < count; i++) {
        const ik_markdown_wrap_line_t *line = &layout->lines[i];
        ik_markdown_margin_begin_row(margin, layout->rows);
        add_heading_mark(prose, layout->rows);
        run = ik_markdown_inline_run_at(&layout->flat, run, line->from);
        ik_markdown_inline_draw(&layout->flat, run, line->from, line->to, &layout->rows->row);
        ik_markdown_rows_give(layout->rows);
        prose->is_cut = true;
    }
}

void ik_markdown_prose_give(ik_markdown_prose_t *prose, ik_markdown_margin_t *margin,
                            ik_markdown_layout_t *layout)
{
    lay_out(prose, margin, layout);
    give_lines(prose, margin, layout, layout->count);
}

/* --- cutting ----------------------------------------------------------------------------- */

typedef struct {
    size_t line; /* 0: none */
    size_t source;
} cut_t;

/* Whether something stands in a row as a character that may yet turn out to begin a span. */
static bool may_open(const ik_markdown_layout_t *layout, const ik_markdown_wrap_line_t *line)
{
    const char *text = layout->flat.text.data;
    for (size_t i = line->from; i < line->to; i++) {
        bool at_word = i == line->from || text[i - 1] == ' ' || text[i - 1] == '(';
        if (text[i] == '`' || text[i] == '[' ||
            ((text[i] == '*' || text[i] == '_' || text[i] == '~') && at_word)) {
            return true;
        }
    }
    return false;
}

/* The last row that begins outside of any span; the best: behind rows that opened nothing. */
static cut_t find_cut(const ik_markdown_layout_t *layout, bool any)
{
    enum { LOOK_BACK = 2 };
    cut_t best = {0};
    size_t run = 0;
    size_t opened = 0; /* the last row that may have opened something, plus one */
    bool is_clean = false;
    for (size_t i = 1; i < layout->count; i++) {
        run = ik_markdown_inline_run_at(&layout->flat, run, layout->lines[i].from);
        const ik_markdown_run_t *at = &layout->flat.runs[run];
        opened = may_open(layout, &layout->lines[i - 1]) ? i : opened;
        bool clean = opened == 0 || i - opened >= LOOK_BACK;
        if (at->source == IK_MARKDOWN_INLINE_NOWHERE || (at->depth > 0 && !any) ||
            (is_clean && !clean)) {
            continue;
        }
        best = (cut_t){.line = i, .source = at->source + (layout->lines[i].from - at->start)};
        is_clean = clean;
    }
    return best;
}

/* A character keeps the backslash that took its meaning. */
static void drop_source(ik_markdown_prose_t *prose, size_t from)
{
    ik_buffer_t *source = &prose->source;
    from -= from > LEAD_LEN && source->data[from - 1] == '\\';
    size_t rest = source->len - from;
    memmove(source->data + LEAD_LEN, source->data + from, rest);
    source->len = LEAD_LEN + rest;
}

/* Rows that may wait. */
static size_t most_rows(const ik_markdown_rows_t *rows)
{
    return rows->max_open < MOST_ROWS ? rows->max_open : MOST_ROWS;
}

/* Marks without width make no rows: what is parsed again and again is short in bytes, too. */
static size_t longest_source(size_t most, size_t width)
{
    enum { BYTES_PER_COLUMN = 8, LEAST = 1024 };
    return most * width * BYTES_PER_COLUMN + LEAST;
}

/* A row takes at least half of its width from the source, but for the last before a break. */
static void plan_check(ik_markdown_prose_t *prose, size_t width, size_t rows_left)
{
    size_t half = width / 2 < 8 ? 8 : width / 2;
    prose->check_at = prose->source.len + (rows_left == 0 ? half : rows_left * half);
}

/* Gives the top rows; returns how many are left. */
static size_t cut(ik_markdown_prose_t *prose, ik_markdown_margin_t *margin,
                  ik_markdown_layout_t *layout, bool is_late, bool is_too_late)
{
    cut_t place = find_cut(layout, is_late);
    if (place.line == 0 && is_too_late) {
        place = (cut_t){.line = layout->count, .source = prose->source.len};
    }
    if (place.line > 0) {
        give_lines(prose, margin, layout, place.line);
        drop_source(prose, place.source);
    }
    return layout->count - place.line;
}

static void check(ik_markdown_prose_t *prose, ik_markdown_margin_t *margin,
                  ik_markdown_layout_t *layout)
{
    size_t width = room_for_words(prose, margin, layout->rows);
    size_t most = most_rows(layout->rows);
    bool is_long = prose->source.len > longest_source(most, width);
    lay_out(prose, margin, layout);
    size_t left = layout->count;
    if (left > most || is_long) {
        left = cut(prose, margin, layout, is_long || left > 2 * most, is_long || left > 4 * most);
    }
    plan_check(prose, width, left < most ? most - left : 0);
}

/* --- text -------------------------------------------------------------------------------- */

void ik_markdown_prose_begin(ik_markdown_prose_t *prose, int level,
                             const ik_markdown_layout_t *layout)
{
    prose->level = level;
    prose->lines = 0;
    prose->is_cut = false;
    prose->source.len = 0;
    ik_buffer_append_text(&prose->source, IK_MARKDOWN_INLINE_LEAD);
    plan_check(prose, layout->rows->width, most_rows(layout->rows));
}

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* How much of the text comes before the next look; is_due: the look is then. */
static size_t until_check(const ik_markdown_prose_t *prose, const char *text, size_t len,
                          bool *is_due)
{
    size_t at = prose->source.len;
    size_t i = prose->check_at > at ? prose->check_at - at : 0;
    *is_due = true;
    for (; i < len; i++) {
        if (at + i - prose->check_at >= LONGEST_WORD && !is_continuation(text[i])) {
            return i;
        }
        if (text[i] == ' ') {
            return i + 1;
        }
    }
    *is_due = false;
    return len;
}

void ik_markdown_prose_add(ik_markdown_prose_t *prose, const char *text, size_t len,
                           ik_markdown_margin_t *margin, ik_markdown_layout_t *layout)
{
    while (len > 0) {
        bool is_due;
        size_t part = until_check(prose, text, len, &is_due);
        ik_buffer_append(&prose->source, text, part);
        text += part;
        len -= part;
        if (is_due) {
            check(prose, margin, layout);
        }
    }
}

/* A row that ends here ends early: the next look comes sooner. */
static void expect_break(ik_markdown_prose_t *prose, const ik_markdown_layout_t *layout)
{
    const ik_buffer_t *source = &prose->source;
    bool is_break = source->data[source->len - 1] == '\\' ||
                    (source->len >= 2 && memcmp(source->data + source->len - 2, "  ", 2) == 0);
    size_t ahead = prose->check_at > source->len ? prose->check_at - source->len : 0;
    size_t sooner = layout->rows->width / 2;
    if (is_break) {
        prose->check_at -= sooner < ahead ? sooner : ahead;
    }
}

/* md4c takes three of these for a fence even where nothing can begin. */
static bool is_like_fence(const char *text, size_t len)
{
    return len >= 3 && (memcmp(text, "```", 3) == 0 || memcmp(text, "~~~", 3) == 0);
}

void ik_markdown_prose_add_line(ik_markdown_prose_t *prose, const char *text, size_t len,
                                ik_markdown_margin_t *margin, ik_markdown_layout_t *layout)
{
    if (prose->lines > 0) {
        expect_break(prose, layout);
        ik_buffer_append_text(&prose->source,
                              is_like_fence(text, len) ? " " : IK_MARKDOWN_INLINE_JOIN);
    }
    prose->lines++;
    ik_markdown_prose_add(prose, text, len, margin, layout);
}

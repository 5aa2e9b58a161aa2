#include "terminal/markdown_prose.h"

#include <string.h>

#include "base/alloc.h"

enum {
    LEAD_LEN = sizeof(IK_MARKDOWN_INLINE_LEAD) - 1,
    WORD_MAX = 256,  /* a longer word is checked before its end */
    ROWS_MAX = 1000, /* held back, whatever the caller allows */
    OPENER_MAX = 8,  /* bytes of marks that are repeated */
};

#define MARKS "`*_~[" /* they may open a span */

/* --- layout ------------------------------------------------------------------------------ */

/* The width of "## " before the first row of a heading, by which its other rows are indented. */
static size_t heading_columns(const ik_markdown_prose_t *prose)
{
    return prose->level == 0 ? 0 : (size_t)prose->level + 1;
}

static size_t room_for_words(const ik_markdown_prose_t *prose, const ik_markdown_margin_t *margin,
                             const ik_markdown_rows_t *rows)
{
    size_t room = ik_markdown_margin_room(margin, rows);
    size_t mark = heading_columns(prose);
    return room > mark ? room - mark : 1;
}

static void lay_out(const ik_markdown_prose_t *prose, const ik_markdown_margin_t *margin,
                    ik_markdown_layout_t *layout)
{
    ik_markdown_inline_t *flat = &layout->flat;
    ik_markdown_wrap_t wrap;
    ik_markdown_wrap_line_t line;
    const ik_theme_t *theme = layout->rows->theme;
    ik_style_t style = prose->level > 0 ? ik_theme_style(theme, IK_ROLE_HEADING)
                                        : ik_markdown_margin_style(margin, theme);
    ik_markdown_inline_clear(flat);
    ik_markdown_inline_parse(flat, prose->source.data, prose->source.len, style);
    ik_markdown_wrap_init(&wrap, flat->text.data, 0, flat->text.len,
                          room_for_words(prose, margin, layout->rows));
    layout->count = 0;
    while (ik_markdown_wrap_next(&wrap, &line)) {
        if (layout->count == layout->capacity) {
            layout->capacity = layout->capacity == 0 ? 32 : layout->capacity * 2;
            layout->lines = ik_resize_array(flat->text.ctx, layout->lines, ik_markdown_wrap_line_t,
                                            layout->capacity);
        }
        layout->lines[layout->count++] = line;
    }
}

static void emit_lines(ik_markdown_prose_t *prose, ik_markdown_margin_t *margin,
                       ik_markdown_layout_t *layout, size_t count)
{
    size_t run = 0;
    for (size_t i = 0; i < count; i++) {
        const ik_markdown_wrap_line_t *line = &layout->lines[i];
        ik_markdown_margin_begin_row(margin, layout->rows);
        size_t indent = heading_columns(prose);
        if (indent > 0 && !prose->is_cut) {
            ik_markdown_rows_repeat(layout->rows, IK_ROLE_DIM, "#", indent - 1);
            indent = 1;
        }
        ik_markdown_rows_pad(layout->rows, indent);
        run = ik_markdown_inline_run_at(&layout->flat, run, line->from);
        ik_markdown_inline_draw(&layout->flat, run, line->from, line->to, &layout->rows->row);
        ik_markdown_rows_emit(layout->rows);
        prose->is_cut = true;
    }
}

void ik_markdown_prose_emit(ik_markdown_prose_t *prose, ik_markdown_margin_t *margin,
                            ik_markdown_layout_t *layout)
{
    lay_out(prose, margin, layout);
    emit_lines(prose, margin, layout, layout->count);
}

/* --- cutting ----------------------------------------------------------------------------- */

/* The marks that open the span of a run. */
typedef struct {
    size_t text;   /* offset of the first text after them */
    size_t source; /* their offset in the source */
    size_t len;    /* 0: they are not known, or further spans are open */
} opener_t;

typedef struct {
    size_t line;     /* the first that stays; 0: no cut is possible */
    size_t source;   /* its offset in the source */
    opener_t opener; /* of the span that it is in, to be repeated before it */
} cut_t;

static bool is_same_span(const ik_markdown_run_t *a, const ik_markdown_run_t *b)
{
    return a->depth == b->depth && a->link == b->link && ik_style_equal(a->style, b->style);
}

static opener_t find_opener(const ik_markdown_layout_t *layout, const char *source, size_t run)
{
    const ik_markdown_run_t *runs = layout->flat.runs;
    size_t first = run;
    while (first > 0 && (runs[first - 1].depth > runs[run].depth ||
                         is_same_span(&runs[first - 1], &runs[run]))) {
        first--;
    }
    const ik_markdown_run_t *before = first == 0 ? NULL : &runs[first - 1];
    size_t to = runs[first].source;
    if (runs[first].depth != runs[run].depth || to == IK_MARKDOWN_INLINE_NOWHERE ||
        (before != NULL && before->depth > 0)) {
        return (opener_t){0};
    }
    size_t floor = LEAD_LEN;
    if (before != NULL && before->source != IK_MARKDOWN_INLINE_NOWHERE) {
        floor = before->source + (runs[first].start - before->start);
    }
    size_t from = to;
    while (from > floor && to - from <= OPENER_MAX && strchr(MARKS "!", source[from - 1]) != NULL) {
        from--;
    }
    if (to - from > OPENER_MAX) {
        return (opener_t){0};
    }
    return (opener_t){.text = runs[first].start, .source = from, .len = to - from};
}

/* Whether a row shows a literal character that may turn out to open a span when more text comes. */
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

/* Finds the last row that starts outside all spans or with a span, preferably one after rows that
 * opened none; a few rows wait for such a one. `any` also accepts rows that start inside a span. */
static cut_t find_cut(const ik_markdown_layout_t *layout, const char *source, bool any)
{
    enum { LOOK_BACK = 2, PATIENCE = 4 };
    cut_t best = {0};
    size_t run = 0;
    size_t opened = 0; /* the last row that may have opened a span, plus one */
    bool is_clean = false;
    for (size_t i = 1; i < layout->count; i++) {
        size_t from = layout->lines[i].from;
        run = ik_markdown_inline_run_at(&layout->flat, run, from);
        const ik_markdown_run_t *at = &layout->flat.runs[run];
        opened = may_open(layout, &layout->lines[i - 1]) ? i : opened;
        /* a mark that may vanish at its start would move its first word to the row before */
        bool starts_open = strchr(MARKS, layout->flat.text.data[from]) != NULL;
        bool clean = (opened == 0 || i - opened >= LOOK_BACK) && !starts_open;
        bool may_wait = is_clean || layout->count <= PATIENCE;
        opener_t opener = at->depth == 0 ? (opener_t){0} : find_opener(layout, source, run);
        bool is_inside = at->depth > 0 && (opener.len == 0 || opener.text < from);
        if (at->source == IK_MARKDOWN_INLINE_NOWHERE || (is_inside && !any) ||
            (may_wait && !clean)) {
            continue;
        }
        best = (cut_t){.line = i, .source = at->source + (from - at->start), .opener = opener};
        is_clean = clean;
    }
    return best;
}

/* The number of rows that may be held back. */
static size_t most_rows(const ik_markdown_rows_t *rows)
{
    return rows->max_open < ROWS_MAX ? rows->max_open : ROWS_MAX;
}

/* Plans the next check. Each row but the last before a line break takes at least half of its width
 * in bytes from the source. */
static void plan_check(ik_markdown_prose_t *prose, size_t width, size_t rows_left)
{
    size_t half = width / 2 < 8 ? 8 : width / 2;
    prose->check_at = prose->source.len + (rows_left == 0 ? half : rows_left * half);
}

/* Emits the top rows up to the best cut and returns how many are left. The longer the text, the
 * worse a cut is accepted: inside a span if is_late, after all rows if is_too_late. */
static size_t cut(ik_markdown_prose_t *prose, ik_markdown_margin_t *margin,
                  ik_markdown_layout_t *layout, bool is_late, bool is_too_late)
{
    ik_buffer_t *source = &prose->source;
    cut_t found = find_cut(layout, source->data, is_late);
    if (found.line == 0 && is_too_late) {
        found = (cut_t){.line = layout->count, .source = source->len};
    }
    if (found.line > 0) {
        emit_lines(prose, margin, layout, found.line);
        size_t from = found.source;
        from -=
            from > LEAD_LEN && source->data[from - 1] == '\\'; /* escapes the character at from */
        size_t rest = source->len - from;
        size_t lead = LEAD_LEN + found.opener.len; /* the marks precede the text that they open */
        memmove(source->data + LEAD_LEN, source->data + found.opener.source, found.opener.len);
        memmove(source->data + lead, source->data + from, rest);
        source->len = lead + rest;
    }
    return layout->count - found.line;
}

/* Cuts the text if it is too tall, or too long in bytes: characters without width make no rows, and
 * the source is parsed again with every check. */
static void check(ik_markdown_prose_t *prose, ik_markdown_margin_t *margin,
                  ik_markdown_layout_t *layout)
{
    size_t width = room_for_words(prose, margin, layout->rows);
    enum { BYTES_PER_COLUMN = 8, SOURCE_MIN = 1024 };
    size_t most = most_rows(layout->rows);
    bool is_long = prose->source.len > most * width * BYTES_PER_COLUMN + SOURCE_MIN;
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

/* How much of the text to add before the next check; is_due tells whether it is due then. */
static size_t until_check(const ik_markdown_prose_t *prose, const char *text, size_t len,
                          bool *is_due)
{
    size_t at = prose->source.len;
    size_t i = prose->check_at > at ? prose->check_at - at : 0;
    *is_due = true;
    for (; i < len; i++) {
        bool is_character_start = ((unsigned char)text[i] & 0xc0) != 0x80;
        if (at + i - prose->check_at >= WORD_MAX && is_character_start) {
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

/* A line break ends a row early, so the next check must come sooner. */
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

void ik_markdown_prose_add_line(ik_markdown_prose_t *prose, const char *text, size_t len,
                                ik_markdown_margin_t *margin, ik_markdown_layout_t *layout)
{
    if (prose->lines > 0) {
        expect_break(prose, layout);
        /* md4c would take a line that starts like this for a fence, in spite of the JOIN. */
        bool is_fence = len >= 3 && (memcmp(text, "```", 3) == 0 || memcmp(text, "~~~", 3) == 0);
        ik_buffer_append_text(&prose->source, is_fence ? " " : IK_MARKDOWN_INLINE_JOIN);
    }
    prose->lines++;
    ik_markdown_prose_add(prose, text, len, margin, layout);
}

#include "terminal/pager_part.h"

#include <string.h>
#include <utf8proc.h>

#include "base/alloc.h"
#include "base/utf8.h"

enum { ESCAPE = 0x1b };

static const ik_pen_t nothing;

/* --- rows -------------------------------------------------------------------------------- */

static void on_row(void *data, const char *bytes, size_t len)
{
    ik_pager_part_t *part = data;
    ik_buffer_append(&part->bytes, bytes, len);
    ik_buffer_append_byte(&part->bytes, '\n');
}

ik_pager_part_t *ik_pager_part_create(const void *ctx, const ik_pager_source_t *source,
                                      size_t number, int columns)
{
    ik_pager_part_t *part = ik_new(ctx, ik_pager_part_t);
    ik_buffer_init(&part->bytes, part, IK_BUFFER_UNLIMITED);
    source->render(source->data, number, columns, on_row, part);
    return part;
}

size_t ik_pager_part_size(const ik_pager_part_t *part)
{
    return sizeof(*part) + part->bytes.capacity + part->count * sizeof(*part->lines);
}

/* --- lines ------------------------------------------------------------------------------- */

typedef struct {
    ik_pager_part_t *part;
    size_t capacity;
    ik_pager_line_t line; /* being filled */
    size_t plain;         /* where it ends */
    int width;
    ik_pen_t pen;
} wrap_t;

static void end_line(wrap_t *wrap, size_t end, size_t next)
{
    ik_pager_part_t *part = wrap->part;
    if (part->count == wrap->capacity) {
        wrap->capacity = wrap->capacity == 0 ? 16 : 2 * wrap->capacity;
        part->lines = ik_resize_array(part, part->lines, ik_pager_line_t, wrap->capacity);
    }
    wrap->line.len = end - wrap->line.at;
    part->lines[part->count++] = wrap->line;
    wrap->line = (ik_pager_line_t){.at = next, .plain = wrap->plain, .pen = wrap->pen};
    wrap->width = 0;
}

static size_t end_row(wrap_t *wrap, size_t at)
{
    wrap->plain++;
    end_line(wrap, at, at + 1);
    return at + 1;
}

static size_t add_row_part(wrap_t *wrap, size_t at, int columns)
{
    const ik_buffer_t *bytes = &wrap->part->bytes;
    ik_row_part_t next = ik_row_next(bytes->data + at, bytes->len - at, wrap->width);
    if (next.is_sequence) {
        ik_pen_follow(&wrap->pen, bytes->data + at, next.len);
        return at + next.len;
    }
    /* A line that has nothing yet takes even what is wider than the screen. */
    if (wrap->width > 0 && wrap->width + next.columns > columns) {
        end_line(wrap, at, at);
        return at;
    }
    wrap->width += next.columns;
    wrap->plain += next.len;
    return at + next.len;
}

void ik_pager_part_wrap(ik_pager_part_t *part, int columns)
{
    wrap_t wrap = {.part = part};
    for (size_t at = 0; at < part->bytes.len;) {
        at = part->bytes.data[at] == '\n' ? end_row(&wrap, at) : add_row_part(&wrap, at, columns);
    }
    part->lines = ik_resize_array(part, part->lines, ik_pager_line_t, part->count);
}

size_t ik_pager_part_line_of(const ik_pager_part_t *part, size_t plain)
{
    size_t low = 0;
    size_t high = part->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (part->lines[middle].plain <= plain) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* --- the plain text ---------------------------------------------------------------------- */

/* A character of several bytes; one whose small form takes more or fewer is left as it is. */
static void fold_character(char *bytes, size_t len)
{
    char lower[4];
    uint32_t code = (uint32_t)utf8proc_tolower(ik_utf8_decode(bytes, len));
    if (ik_utf8_encode(lower, code) == len) {
        memcpy(bytes, lower, len);
    }
}

static void fold(char *bytes, size_t len)
{
    for (size_t at = 0, step; at < len; at += step) {
        bool valid = true;
        step = 1;
        if (bytes[at] >= 'A' && bytes[at] <= 'Z') {
            bytes[at] = (char)(bytes[at] - 'A' + 'a');
        } else if ((unsigned char)bytes[at] >= 0x80) {
            step = ik_utf8_step(bytes + at, len - at, &valid);
            if (valid) {
                fold_character(bytes + at, step);
            }
        }
    }
}

void ik_pager_part_append_plain(ik_buffer_t *out, const char *bytes, size_t len, bool folded)
{
    size_t begin = out->len;
    for (size_t at = 0; at < len;) {
        const char *sequence = memchr(bytes + at, ESCAPE, len - at);
        size_t end = sequence == NULL ? len : (size_t)(sequence - bytes);
        ik_buffer_append(out, bytes + at, end - at);
        at = end == len ? len : end + ik_row_next(bytes + end, len - end, 0).len;
    }
    if (folded && out->len > begin) {
        fold(out->data + begin, out->len - begin);
    }
}

/* --- drawing ----------------------------------------------------------------------------- */

typedef struct {
    ik_buffer_t *out;
    ik_pen_t shown;  /* in force in out */
    ik_pen_t wanted; /* by the row */
    size_t plain;
    int width;
    const ik_pager_mark_t *marks; /* that are not behind yet */
    size_t mark_count;
} drawing_t;

static void set_style(drawing_t *drawing)
{
    ik_pen_t pen = drawing->wanted;
    while (drawing->mark_count > 0 && drawing->marks->end <= drawing->plain) {
        drawing->marks++;
        drawing->mark_count--;
    }
    if (drawing->mark_count > 0 && drawing->marks->begin <= drawing->plain) {
        pen.style = drawing->marks->style;
    }
    ik_pen_append(drawing->out, &drawing->shown, &pen);
    drawing->shown = pen;
}

static void draw_text(drawing_t *drawing, const char *bytes, const ik_row_part_t *text, int columns)
{
    set_style(drawing);
    int room = columns - drawing->width;
    if (bytes[0] == '\t') {
        int spaces = text->columns < room ? text->columns : room;
        ik_buffer_append_format(drawing->out, "%*s", spaces, "");
    } else if (text->columns <= room) {
        ik_buffer_append(drawing->out, bytes, text->len);
    }
    drawing->width += text->columns;
    drawing->plain += text->len;
}

void ik_pager_part_draw(const ik_pager_part_t *part, size_t line, int columns,
                        const ik_pager_mark_t *marks, size_t mark_count, ik_buffer_t *out)
{
    const ik_pager_line_t *from = &part->lines[line];
    drawing_t drawing = {.out = out,
                         .wanted = from->pen,
                         .plain = from->plain,
                         .marks = marks,
                         .mark_count = mark_count};
    for (size_t at = from->at; at < from->at + from->len;) {
        const char *bytes = part->bytes.data + at;
        ik_row_part_t next = ik_row_next(bytes, from->at + from->len - at, drawing.width);
        if (next.is_sequence) {
            ik_pen_follow(&drawing.wanted, bytes, next.len);
        } else {
            draw_text(&drawing, bytes, &next, columns);
        }
        at += next.len;
    }
    ik_pen_append(out, &drawing.shown, &nothing);
}

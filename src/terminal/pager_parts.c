#include "terminal/pager_parts.h"

#include <string.h>
#include <utf8proc.h>

#include "base/alloc.h"
#include "base/utf8.h"

enum { ESCAPE = 0x1b };

/* --- rendering one part ------------------------------------------------------------------ */

static void on_row(void *data, const char *bytes, size_t len)
{
    ik_pager_part_t *part = data;
    ik_buffer_append(&part->bytes, bytes, len);
    ik_buffer_append_byte(&part->bytes, '\n');
}

/* Does not wrap it into lines yet. */
static ik_pager_part_t *render(const void *ctx, const ik_pager_source_t *source, size_t number,
                               int columns)
{
    ik_pager_part_t *part = ik_new(ctx, ik_pager_part_t);
    ik_buffer_init(&part->bytes, part, IK_BUFFER_UNLIMITED); /* bounded by the source */
    source->render(source->data, number, columns, on_row, part);
    return part;
}

typedef struct {
    ik_pager_part_t *part;
    size_t capacity;
    ik_pager_line_t line; /* the current one */
    size_t plain;         /* offset of its end in the plain text */
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

static void wrap_part(ik_pager_part_t *part, int columns)
{
    wrap_t wrap = {.part = part};
    const ik_buffer_t *bytes = &part->bytes;
    for (size_t at = 0; at < bytes->len;) {
        if (bytes->data[at] == '\n') {
            wrap.plain++;
            end_line(&wrap, at, at + 1);
            at++;
            continue;
        }
        ik_row_part_t next = ik_row_next(bytes->data + at, bytes->len - at, wrap.width);
        if (next.is_sequence) {
            ik_pen_follow(&wrap.pen, bytes->data + at, next.len);
        } else if (wrap.width > 0 && wrap.width + next.columns > columns) {
            end_line(&wrap, at, at); /* and try again: an empty line takes any width */
            continue;
        } else {
            wrap.width += next.columns;
            wrap.plain += next.len;
        }
        at += next.len;
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

/* --- plain text -------------------------------------------------------------------------- */

static void fold(char *bytes, size_t len)
{
    for (size_t at = 0, step; at < len; at += step) {
        bool valid = true;
        step = 1;
        if (bytes[at] >= 'A' && bytes[at] <= 'Z') {
            bytes[at] = (char)(bytes[at] - 'A' + 'a');
        } else if ((unsigned char)bytes[at] >= 0x80) {
            step = ik_utf8_step(bytes + at, len - at, &valid);
            char lower[4];
            int32_t code = valid ? utf8proc_tolower(ik_utf8_decode(bytes + at, step)) : 0;
            if (valid && ik_utf8_encode(lower, (uint32_t)code) == step) {
                memcpy(bytes + at, lower, step);
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

/* --- drawing a line ---------------------------------------------------------------------- */

typedef struct {
    ik_buffer_t *out;
    ik_pen_t shown;  /* in effect in out */
    ik_pen_t wanted; /* by the row */
    size_t plain;
    int width;
    const ik_pager_mark_t *marks; /* not yet passed */
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
    ik_pen_append(out, &drawing.shown, &(ik_pen_t){.link = NULL});
}

/* --- parts in memory --------------------------------------------------------------------- */

typedef struct {
    ik_pager_part_t *part; /* NULL: free */
    size_t number;
    uint64_t used; /* value of `uses` at its last use */
} slot_t;

struct ik_pager_parts {
    ik_pager_source_t source;
    int columns;
    slot_t slots[IK_PAGER_PARTS_MAX];
    size_t bytes;
    uint64_t uses;
};

static size_t part_size(const ik_pager_part_t *part)
{
    return sizeof(*part) + part->bytes.capacity + part->count * sizeof(*part->lines);
}

ik_pager_parts_t *ik_pager_parts_create(const void *ctx, const ik_pager_source_t *source,
                                        int columns)
{
    ik_pager_parts_t *parts = ik_new(ctx, ik_pager_parts_t);
    parts->source = *source;
    parts->columns = columns;
    return parts;
}

size_t ik_pager_parts_count(const ik_pager_parts_t *parts)
{
    return parts->source.count;
}

static void forget(ik_pager_parts_t *parts, slot_t *slot)
{
    if (slot->part != NULL) {
        parts->bytes -= part_size(slot->part);
        TALLOC_FREE(slot->part);
    }
}

void ik_pager_parts_resize(ik_pager_parts_t *parts, int columns)
{
    for (size_t i = 0; i < IK_PAGER_PARTS_MAX; i++) {
        forget(parts, &parts->slots[i]);
    }
    parts->columns = columns;
}

static slot_t *find(ik_pager_parts_t *parts, size_t number)
{
    for (size_t i = 0; i < IK_PAGER_PARTS_MAX; i++) {
        if (parts->slots[i].part != NULL && parts->slots[i].number == number) {
            return &parts->slots[i];
        }
    }
    return NULL;
}

/* The least recently used part. */
static slot_t *find_oldest(ik_pager_parts_t *parts)
{
    slot_t *oldest = NULL;
    for (size_t i = 0; i < IK_PAGER_PARTS_MAX; i++) {
        slot_t *slot = &parts->slots[i];
        if (slot->part != NULL && (oldest == NULL || slot->used < oldest->used)) {
            oldest = slot;
        }
    }
    return oldest;
}

static slot_t *find_free(ik_pager_parts_t *parts)
{
    for (size_t i = 0; i < IK_PAGER_PARTS_MAX; i++) {
        if (parts->slots[i].part == NULL) {
            return &parts->slots[i];
        }
    }
    slot_t *oldest = find_oldest(parts);
    forget(parts, oldest);
    return oldest;
}

static slot_t *load(ik_pager_parts_t *parts, size_t number)
{
    ik_pager_part_t *part = render(parts, &parts->source, number, parts->columns);
    wrap_part(part, parts->columns > 1 ? parts->columns - 1 : 1);
    while (parts->bytes > IK_PAGER_BYTES_MAX) {
        forget(parts, find_oldest(parts));
    }
    slot_t *slot = find_free(parts);
    parts->bytes += part_size(part);
    *slot = (slot_t){.part = part, .number = number};
    return slot;
}

const ik_pager_part_t *ik_pager_parts_get(ik_pager_parts_t *parts, size_t number)
{
    slot_t *slot = find(parts, number);
    if (slot == NULL) {
        slot = load(parts, number);
    }
    slot->used = ++parts->uses;
    return slot->part;
}

void ik_pager_parts_append_plain(ik_pager_parts_t *parts, size_t number, bool folded,
                                 ik_buffer_t *out)
{
    const slot_t *slot = find(parts, number);
    ik_pager_part_t *temporary = NULL;
    if (slot == NULL) {
        temporary = render(parts, &parts->source, number, parts->columns);
    }
    const ik_buffer_t *bytes = slot == NULL ? &temporary->bytes : &slot->part->bytes;
    ik_pager_part_append_plain(out, bytes->data, bytes->len, folded);
    talloc_free(temporary);
}

/* --- positions --------------------------------------------------------------------------- */

/* The first line of the first part from number on that has lines. */
static bool find_forward(ik_pager_parts_t *parts, size_t number, ik_pager_position_t *position)
{
    for (size_t i = number; i < parts->source.count; i++) {
        if (ik_pager_parts_get(parts, i)->count > 0) {
            *position = (ik_pager_position_t){.part = i};
            return true;
        }
    }
    return false;
}

/* The last line of the last part before number that has lines. */
static bool find_backward(ik_pager_parts_t *parts, size_t number, ik_pager_position_t *position)
{
    for (size_t i = number; i-- > 0;) {
        size_t count = ik_pager_parts_get(parts, i)->count;
        if (count > 0) {
            *position = (ik_pager_position_t){.part = i, .line = count - 1};
            return true;
        }
    }
    return false;
}

bool ik_pager_parts_first(ik_pager_parts_t *parts, ik_pager_position_t *position)
{
    return find_forward(parts, 0, position);
}

bool ik_pager_parts_last(ik_pager_parts_t *parts, ik_pager_position_t *position)
{
    return find_backward(parts, parts->source.count, position);
}

static bool step(ik_pager_parts_t *parts, ik_pager_position_t *position, bool forward)
{
    if (forward && position->line + 1 < ik_pager_parts_get(parts, position->part)->count) {
        position->line++;
        return true;
    }
    if (!forward && position->line > 0) {
        position->line--;
        return true;
    }
    return forward ? find_forward(parts, position->part + 1, position)
                   : find_backward(parts, position->part, position);
}

size_t ik_pager_parts_move(ik_pager_parts_t *parts, ik_pager_position_t *position, ptrdiff_t lines)
{
    size_t wanted = (size_t)(lines < 0 ? -lines : lines);
    size_t moved = 0;
    while (moved < wanted && step(parts, position, lines > 0)) {
        moved++;
    }
    return moved;
}

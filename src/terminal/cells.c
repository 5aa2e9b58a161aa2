#include "terminal/cells.h"

#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "terminal/row.h"

enum { FIRST_CAPACITY = 128 };

void ik_cells_init(ik_cells_t *cells, const void *ctx)
{
    *cells = (ik_cells_t){.ctx = ctx};
}

/* Joined emoji, flags, variation selectors and conjuncts take one cell in some terminals and
 * several in others. Accents (U+0300 to U+036F, lead byte CC or CD) are safe everywhere. */
static bool is_doubtful(const char *grapheme, size_t len)
{
    bool valid;
    size_t at = len == 1 ? 1 : ik_utf8_step(grapheme, len, &valid);
    while (at < len) {
        unsigned char lead = (unsigned char)grapheme[at];
        if (lead != 0xcc && lead != 0xcd) {
            return true;
        }
        at += ik_utf8_step(grapheme + at, len - at, &valid);
    }
    return false;
}

static void add_cell(ik_cells_t *cells, const char *bytes, ik_row_part_t part, const ik_pen_t *pen)
{
    if (cells->count == cells->capacity) {
        cells->capacity = cells->capacity == 0 ? FIRST_CAPACITY : cells->capacity * 2;
        cells->items = ik_resize_array(cells->ctx, cells->items, ik_cell_t, cells->capacity);
    }
    cells->items[cells->count++] = (ik_cell_t){
        .bytes = bytes,
        .len = part.len,
        .column = cells->width,
        .columns = part.columns,
        .pen = *pen,
    };
    if (cells->doubtful == SIZE_MAX && is_doubtful(bytes, part.len)) {
        cells->doubtful = cells->count - 1;
    }
    cells->width += part.columns;
}

void ik_cells_read(ik_cells_t *cells, const char *bytes, size_t len)
{
    ik_pen_t pen = {.link = NULL};
    cells->count = 0;
    cells->width = 0;
    cells->doubtful = SIZE_MAX;
    for (size_t at = 0; at < len;) {
        ik_row_part_t part = ik_row_next(bytes + at, len - at, cells->width);
        if (part.is_sequence) {
            ik_pen_follow(&pen, bytes + at, part.len);
        } else {
            add_cell(cells, bytes + at, part, &pen);
        }
        at += part.len;
    }
}

static bool is_same(const ik_cell_t *a, const ik_cell_t *b)
{
    return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0 &&
           ik_pen_equal(&a->pen, &b->pen);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool joins_previous(const ik_cells_t *cells, size_t index)
{
    return index < cells->count && cells->items[index].columns == 0;
}

/* How many cells at the end are the same and in the same columns. */
static size_t count_same_end(const ik_cells_t *before, const ik_cells_t *after, size_t from)
{
    size_t most = smaller(before->count, after->count) - from;
    size_t same = 0;
    if (before->width != after->width) {
        return 0;
    }
    while (same < most && is_same(&before->items[before->count - 1 - same],
                                  &after->items[after->count - 1 - same])) {
        same++;
    }
    while (same > 0 && joins_previous(after, after->count - same)) {
        same--;
    }
    return same;
}

ik_cells_change_t ik_cells_compare(const ik_cells_t *before, const ik_cells_t *after)
{
    size_t most = smaller(before->count, after->count);
    size_t same = 0;
    while (same < most && is_same(&before->items[same], &after->items[same])) {
        same++;
    }
    bool appends = same == before->count;
    size_t doubtful = smaller(before->doubtful, after->doubtful);
    if (before->width > after->width || (doubtful != SIZE_MAX && !appends)) {
        return (ik_cells_change_t){.to = after->count, .erase = true};
    }
    /* Writing begins at a cell whose column is certain and that is not drawn into another. */
    size_t from = smaller(same, doubtful);
    while (from > 0 && (joins_previous(before, from) || joins_previous(after, from))) {
        from--;
    }
    size_t end = appends ? 0 : count_same_end(before, after, from);
    return (ik_cells_change_t){.from = from, .to = after->count - end};
}

void ik_cells_append(ik_buffer_t *out, const ik_cells_t *cells, size_t from, size_t to)
{
    static const ik_pen_t none;
    const ik_pen_t *pen = &none;
    for (size_t i = from; i < to; i++) {
        const ik_cell_t *cell = &cells->items[i];
        ik_pen_append(out, pen, &cell->pen);
        ik_buffer_append(out, cell->bytes, cell->len);
        pen = &cell->pen;
    }
    ik_pen_append(out, pen, &none);
}

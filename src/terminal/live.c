#include "terminal/live.h"

#include <string.h>

#include "base/alloc.h"
#include "terminal/row.h"

void ik_live_init(ik_live_t *live, const void *ctx)
{
    *live = (ik_live_t){.ctx = ctx, .cursor_row = -1};
}

void ik_live_clear(ik_live_t *live)
{
    live->count = 0;
    live->cursor_row = -1;
    live->cursor_column = 0;
}

/* Adds an empty row, reusing the memory of an earlier one. */
static ik_live_row_t *next_row(ik_live_t *live)
{
    if (live->count == live->capacity) {
        int capacity = live->capacity == 0 ? 8 : live->capacity * 2;
        live->rows = ik_resize_array(live->ctx, live->rows, ik_live_row_t, (size_t)capacity);
        for (int i = live->capacity; i < capacity; i++) {
            ik_buffer_init(&live->rows[i].bytes, live->ctx,
                           IK_BUFFER_UNLIMITED); /* bounded by the columns */
        }
        live->capacity = capacity;
    }
    ik_live_row_t *row = &live->rows[live->count++];
    row->bytes.len = 0;
    row->width = 0;
    return row;
}

void ik_live_add(ik_live_t *live, const char *bytes, size_t len, int columns)
{
    ik_live_row_t *row = next_row(live);
    row->width = ik_row_fit(&row->bytes, bytes, len, columns);
}

void ik_live_narrow(ik_live_t *live, int columns)
{
    for (int i = 0; i < live->count; i++) {
        ik_live_row_t *row = &live->rows[i];
        if (row->width > columns) {
            ik_buffer_t whole = row->bytes;
            ik_buffer_init(&row->bytes, live->ctx, IK_BUFFER_UNLIMITED); /* by the columns */
            row->width = ik_row_fit(&row->bytes, whole.data, whole.len, columns);
            ik_buffer_reset(&whole);
        }
    }
}

void ik_live_copy(ik_live_t *to, const ik_live_t *from, int first)
{
    ik_live_clear(to);
    for (int i = first; i < from->count; i++) {
        ik_live_row_t *row = next_row(to);
        ik_buffer_append(&row->bytes, from->rows[i].bytes.data, from->rows[i].bytes.len);
        row->width = from->rows[i].width;
    }
    to->cursor_row = from->cursor_row < first ? -1 : from->cursor_row - first;
    to->cursor_column = from->cursor_column;
}

bool ik_live_row_equal(const ik_live_row_t *row, const char *bytes, size_t len)
{
    return row->bytes.len == len && (len == 0 || memcmp(row->bytes.data, bytes, len) == 0);
}

bool ik_live_equal(const ik_live_t *live, int first, const ik_live_t *drawn)
{
    bool hidden = live->cursor_row < first;
    if (drawn->count != live->count - first || hidden != (drawn->cursor_row < 0)) {
        return false;
    }
    if (!hidden && (drawn->cursor_row != live->cursor_row - first ||
                    drawn->cursor_column != live->cursor_column)) {
        return false;
    }
    for (int i = 0; i < drawn->count; i++) {
        const ik_live_row_t *row = &live->rows[first + i];
        if (!ik_live_row_equal(&drawn->rows[i], row->bytes.data, row->bytes.len)) {
            return false;
        }
    }
    return true;
}

/*
 * The cells of a finished row, each with its style and link, so that two rows can be compared by
 * what they show, however their escape sequences are written.
 *
 * Terminals disagree about the width of graphemes of several characters, so the columns after one
 * are uncertain. A change is then written from that grapheme on and not from a column after it.
 */
#pragma once

#include "terminal/pen.h"

typedef struct {
    const char *bytes; /* one grapheme, in the row */
    size_t len;
    int column;  /* of its start */
    int columns; /* 0 if it is drawn into the previous cell */
    ik_pen_t pen;
} ik_cell_t;

typedef struct {
    const void *ctx; /* owner of items */
    ik_cell_t *items;
    size_t count;
    size_t capacity;
    int width;
    size_t doubtful; /* the first cell whose width terminals disagree about, or SIZE_MAX */
} ik_cells_t;

void ik_cells_init(ik_cells_t *cells, const void *ctx);
/* Replaces the cells by those of a row. The cells point into its bytes. */
void ik_cells_read(ik_cells_t *cells, const char *bytes, size_t len);

/* How to turn a row that shows `before` into `after`: write the cells [from, to) of `after`. If
 * parts of `before` would remain, erase is set, and the row is erased and written from its start.
 * (After an erase from the middle, tmux would keep the empty cells and wrap them in a narrower
 * window.)
 */
typedef struct {
    size_t from;
    size_t to;
    bool erase;
} ik_cells_change_t;
ik_cells_change_t ik_cells_compare(const ik_cells_t *before, const ik_cells_t *after);

/* Writes the cells [from, to), starting and ending in the terminal's default style. */
void ik_cells_append(ik_buffer_t *out, const ik_cells_t *cells, size_t from, size_t to);

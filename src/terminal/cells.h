/*
 * A finished row as the cells of the screen it takes, each with the style and link in force, for
 * whoever wants to know where two rows differ. How the sequences between them are written makes no
 * difference.
 *
 * Behind a grapheme of several characters the columns are only what this program believes: writing
 * begins at it and not behind it, so that the terminal itself says where it goes on.
 */
#pragma once

#include "terminal/pen.h"

typedef struct {
    const char *bytes; /* one grapheme, in the row */
    size_t len;
    int column;  /* where it begins */
    int columns; /* 0: it is drawn into the cell before */
    ik_pen_t pen;
} ik_cell_t;

typedef struct {
    const void *ctx; /* owner of items */
    ik_cell_t *items;
    size_t count;
    size_t capacity;
    int width;
    size_t doubtful; /* the first one about whose width terminals disagree; or SIZE_MAX */
} ik_cells_t;

/* Fills the caller's memory. */
void ik_cells_init(ik_cells_t *cells, const void *ctx);
/* The cells of another row, which is borrowed. */
void ik_cells_read(ik_cells_t *cells, const char *bytes, size_t len);

/* What makes `after` of a row that shows `before`: its cells [from, to) are written; first the
 * whole row is erased, and then it is written from its beginning, where something would be left
 * over. (Erased from the middle on, tmux would keep the empty cells and wrap them in a narrower
 * window.)
 */
typedef struct {
    size_t from;
    size_t to;
    bool erase;
} ik_cells_change_t;
ik_cells_change_t ik_cells_compare(const ik_cells_t *before, const ik_cells_t *after);

/* Writes cells [from, to), beginning and ending in the terminal's own style. */
void ik_cells_append(ik_buffer_t *out, const ik_cells_t *cells, size_t from, size_t to);

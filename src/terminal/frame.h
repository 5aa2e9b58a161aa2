/*
 * The bytes of one frame: rows of an area are changed, printed and erased, and the cursor is moved,
 * always relative to where it is. Rows and columns are counted from the area's first row, from 0;
 * what is above cannot be reached.
 */
#pragma once

#include "terminal/cells.h"

typedef struct {
    ik_buffer_t bytes;
    int row;     /* where the cursor is */
    int column;  /* IK_FRAME_SOMEWHERE: not known */
    int rows;    /* of the area that exist: the others come into being with a line feed */
    int touched; /* rows that were written */
    ik_cells_t before;
    ik_cells_t after;
} ik_frame_t;

enum { IK_FRAME_SOMEWHERE = -1 };

/* Fills the caller's memory: the cursor stands at the beginning of the area's only row. */
void ik_frame_init(ik_frame_t *frame, const void *ctx);
/* Another frame, from where the last one left the cursor. */
void ik_frame_begin(ik_frame_t *frame);
/* The area begins so many rows further down. */
void ik_frame_advance(ik_frame_t *frame, int rows);
/* The cursor is so many rows below the area's first row, somewhere in it: goes there and erases the
 * area, whatever is in it. */
void ik_frame_forget(ik_frame_t *frame, int rows_above);

/* To a row that exists or is the next one. */
void ik_frame_move(ik_frame_t *frame, int row, int column);
/* The same in a row as it is drawn. */
void ik_frame_move_in(ik_frame_t *frame, int row, int column, const char *bytes, size_t len);
/* A row and all below it. */
void ik_frame_erase_from(ik_frame_t *frame, int row);

/* A row that is drawn becomes another one; neither has tabs or reaches the last column. */
void ik_frame_change(ik_frame_t *frame, int row, const char *before, size_t before_len,
                     const char *after, size_t after_len);
/* A row of any width where nothing is drawn; the cursor can then go to the next one only, unless
 * width says how wide it is (IK_FRAME_SOMEWHERE: wider than the screen, perhaps). */
void ik_frame_print(ik_frame_t *frame, int row, const char *bytes, size_t len, int width);
/* More of the row that was printed last. */
void ik_frame_print_more(ik_frame_t *frame, const char *bytes, size_t len);

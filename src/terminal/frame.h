/*
 * The bytes of one frame: changes, prints and erases rows of an area and moves the cursor, always
 * relative to its position. Rows and columns are counted from 0 at the area's first row; rows above
 * the area cannot be reached.
 */
#pragma once

#include "terminal/cells.h"

typedef struct {
    ik_buffer_t bytes;
    int row;     /* of the cursor */
    int column;  /* of the cursor; IK_FRAME_SOMEWHERE: not known */
    int rows;    /* existing rows of the area; a line feed adds one */
    int touched; /* rows written */
    ik_cells_t before;
    ik_cells_t after;
} ik_frame_t;

enum { IK_FRAME_SOMEWHERE = -1 };

/* Initialises with the cursor at the beginning of the area's only row. */
void ik_frame_init(ik_frame_t *frame, const void *ctx);
/* Starts another frame; the cursor is where the last one left it. */
void ik_frame_begin(ik_frame_t *frame);
/* Moves the beginning of the area down by this many rows. */
void ik_frame_advance(ik_frame_t *frame, int rows);

/* Moves the cursor to an existing row, or to the next one. */
void ik_frame_move(ik_frame_t *frame, int row, int column);
/* Moves the cursor from the first column to the beginning of its row, at most so many wrapped rows
 * up, on a terminal where backspaces do that (IK_SCREEN_REFLOW_TRACEABLE). */
void ik_frame_climb(ik_frame_t *frame, int most);
/* Moves the cursor in a drawn row, whose bytes are given, past graphemes of doubtful width. */
void ik_frame_move_in(ik_frame_t *frame, int row, int column, const char *bytes, size_t len);
/* Erases a row and all below it. */
void ik_frame_erase_from(ik_frame_t *frame, int row);

/* Turns a drawn row into another one. Neither may have tabs or reach the last column. */
void ik_frame_change(ik_frame_t *frame, int row, const char *before, size_t before_len,
                     const char *after, size_t after_len);
/* Prints a row where nothing is drawn. width is its width in columns; with IK_FRAME_SOMEWHERE the
 * row may be wider than the screen, and the cursor can move only to the next row. */
void ik_frame_print(ik_frame_t *frame, int row, const char *bytes, size_t len, int width);
/* Prints more of the last printed row. */
void ik_frame_print_more(ik_frame_t *frame, const char *bytes, size_t len);

/*
 * The main view: finished rows that are printed once and never changed, and below them a small live
 * area whose changed cells are redrawn. All output of the main view goes through the screen. It
 * never clears the screen or the scrollback, scrolls, sets margins or addresses the cursor
 * absolutely.
 *
 * To print rows, a frame moves the cursor up to the first row that changes, erases below (CSI J),
 * and writes the rows and the live area. Otherwise it writes only the changed cells of live rows.
 * Each frame is one write, made only after the terminal has taken the previous frame: a slow or
 * stopped terminal gets fewer frames, but no row is lost.
 */
#pragma once

#include "base/buffer.h"

typedef struct ik_screen ik_screen_t;

typedef struct {
    /* One frame. */
    void (*write)(void *data, const char *bytes, size_t len);
    /* Whether the terminal has taken all that was written. */
    bool (*is_drained)(void *data);
    void *data;
    bool plain; /* no cursor movement and no live area: rows are printed one after the other */
} ik_screen_options_t;

/* What the terminal does with rows that do not fit into a new width. */
typedef enum {
    IK_SCREEN_REFLOW_NONE, /* it cuts them, or it is not known */
    IK_SCREEN_REFLOW,      /* it wraps them */
    /* It wraps them, and a backspace in the first column goes back to the row before if that was
     * wrapped, but to no other row. So wrapped rows are found whatever the width is. */
    IK_SCREEN_REFLOW_TRACEABLE,
} ik_screen_reflow_t;

ik_screen_t *ik_screen_create(const void *ctx, const ik_screen_options_t *options, int columns,
                              int rows);

int ik_screen_columns(const ik_screen_t *screen);
int ik_screen_rows(const ik_screen_t *screen);
/* Maximum height of the live area: half the screen, at least 1. */
int ik_screen_live_max(const ik_screen_t *screen);

/* Prints a finished row (row.h) of any width above the live area. The terminal wraps it, so that a
 * copy from the terminal is the whole line. */
void ik_screen_commit(ik_screen_t *screen, const char *bytes, size_t len);

/* Sets the live area from top to bottom: begin, add rows, place the cursor (row in the area and
 * column, from 0; row -1: hidden). Too wide rows are cut; of too many rows the first are left out.
 * Nothing is drawn until the next flush. */
void ik_screen_begin_live(ik_screen_t *screen);
void ik_screen_add_live(ik_screen_t *screen, const char *bytes, size_t len);
void ik_screen_place_cursor(ik_screen_t *screen, int row, int column);

/* Draws what changed in one write, if the terminal has taken the previous frame; otherwise it must
 * be called again later. Returns true if nothing is left to draw. */
bool ik_screen_flush(ik_screen_t *screen);
/* Bytes of rows not drawn yet. */
size_t ik_screen_waiting(const ik_screen_t *screen);

/* Queues sequences that belong to no row (a bell, text for the clipboard); they are written before
 * the next frame. */
void ik_screen_send(ik_screen_t *screen, const char *bytes, size_t len);

/* Sets the size of the window, which may be unchanged, and redraws the live area with the next
 * flush. On a terminal that reflows lines the area may have become taller; if that is not known, a
 * stale row is left rather than a finished row erased. */
void ik_screen_resize(ik_screen_t *screen, int columns, int rows);
/* Draws no frames until ik_screen_resize: the window is being resized and its width is not known.
 * Pausing and ending do not wait; they leave a stale row when in doubt. */
void ik_screen_hold(ik_screen_t *screen);
void ik_screen_set_reflow(ik_screen_t *screen, ik_screen_reflow_t reflow);
/* Brackets frames of several rows with synchronised output (DEC 2026). */
void ik_screen_set_synchronised(ik_screen_t *screen, bool synchronised);

/* Gives the terminal to another program: erases the live area with the next flush and draws nothing
 * until resumed; committed rows wait. Resuming redraws the live area at the cursor, which must be
 * at the beginning of a row. */
void ik_screen_pause(ik_screen_t *screen);
void ik_screen_resume(ik_screen_t *screen);
/* Appends the last output to out instead of writing it: the waiting rows, then sequences that erase
 * the live area and show the cursor at the beginning of a row. */
void ik_screen_append_end(ik_screen_t *screen, ik_buffer_t *out);

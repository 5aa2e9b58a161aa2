/*
 * The main view: finished rows above, printed once and never touched again, and a small live area
 * at the bottom that is redrawn where it changed. There is no other way to the terminal for the
 * main view, and it never clears the screen or the scrollback, scrolls, sets margins or addresses
 * the cursor absolutely.
 *
 * Rows enter history by: cursor up to the first row that changes, CSI J, the rows with CRLF, the
 * live area anew. Otherwise only the changed cells of each live row are written. One frame is one
 * write; a frame is made only when the terminal has taken the one before: a slow or stopped
 * terminal gets fewer frames and no row is lost.
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
    bool plain; /* no cursor movement: rows are printed as they come, and there is no live area */
} ik_screen_options_t;

ik_screen_t *ik_screen_create(const void *ctx, const ik_screen_options_t *options, int columns,
                              int rows);

int ik_screen_columns(const ik_screen_t *screen);
int ik_screen_rows(const ik_screen_t *screen);
/* Rows the live area may have: half the screen, at least 1. */
int ik_screen_live_max(const ik_screen_t *screen);

/* A finished row (row.h) for the history, of any width: the terminal wraps it, copying gives it
 * back. */
void ik_screen_commit(ik_screen_t *screen, const char *bytes, size_t len);

/* The live area anew, from the top: begin, rows, and where the cursor is (row in the area, column;
 * from 0), or row -1: hidden. Rows that are too wide are cut; too many: the first ones are left
 * out. Nothing is drawn yet. */
void ik_screen_begin_live(ik_screen_t *screen);
void ik_screen_add_live(ik_screen_t *screen, const char *bytes, size_t len);
void ik_screen_place_cursor(ik_screen_t *screen, int row, int column);

/* Draws what changed, in one write, if the terminal has taken the frame before; otherwise it must
 * be called again when it has. True when nothing is left to draw. */
bool ik_screen_flush(ik_screen_t *screen);
/* Bytes of rows that wait because the terminal does not take them. */
size_t ik_screen_waiting(const ik_screen_t *screen);

/* Sequences that are no part of a row (a bell, a text for the clipboard): written with the next
 * frame, before it. */
void ik_screen_send(ik_screen_t *screen, const char *bytes, size_t len);

/* The window has another size, or the same: the live area is drawn anew with the next flush. Where
 * the terminal wraps lines anew (reflows) the area may have become taller; where that is not known,
 * a stale row is left rather than a row of the history erased. */
void ik_screen_resize(ik_screen_t *screen, int columns, int rows);
/* The window is changing its size, and how wide it is now is not known: no frame is drawn until
 * ik_screen_resize. Pausing and the end do not wait, and leave a stale row when in doubt. */
void ik_screen_hold(ik_screen_t *screen);
void ik_screen_set_reflow(ik_screen_t *screen, bool reflows);
/* Frames of several rows are bracketed by DEC 2026. */
void ik_screen_set_synchronised(ik_screen_t *screen, bool synchronised);

/* Somebody else has the terminal, or had it: erases the live area (with the next flush, which comes
 * at once) and draws nothing until resumed; commits wait. Resuming draws all anew where the cursor
 * is, at the beginning of a row. */
void ik_screen_pause(ik_screen_t *screen);
void ik_screen_resume(ik_screen_t *screen);
/* What must be written at the end: the rows that wait, the live area gone, the cursor shown and at
 * the beginning of a row. Appended to out and not written, so that the end can be written without
 * waiting. */
void ik_screen_append_end(ik_screen_t *screen, ik_buffer_t *out);

/*
 * Draws rows of a list in columns: a mark, the text, and the columns of its note. No row is wider
 * than the screen.
 */
#pragma once

#include "base/width.h"
#include "terminal/choice.h"
#include "terminal/row.h"

enum { IK_CHOICE_ROWS_NOTES = 6 }; /* columns of notes */

typedef struct {
    size_t usable; /* columns of the screen */
    size_t mark;   /* columns of the mark before each text */
    size_t text;
    size_t notes[IK_CHOICE_ROWS_NOTES]; /* 0: not shown */
    bool several;                       /* some note has several columns */
    bool cut_start;                     /* texts keep their end */
} ik_choice_rows_t;

/* Columns for these rows. A note without tabs among notes in columns takes the rest of its row.
 * Where the widest do not fit, texts get three fifths of the screen at least, or all of it if they
 * are wider than the notes, and the last columns of the notes are cut or left out. */
ik_choice_rows_t ik_choice_rows_measure(const ik_choice_row_t *rows, size_t count, size_t usable,
                                        size_t mark);
void ik_choice_rows_draw(const ik_choice_rows_t *columns, ik_row_t *out, const char *mark,
                         const ik_choice_row_t *row, bool chosen);
/* Appends text of any origin, cut to at most max columns and to the usable ones. */
void ik_choice_rows_add(ik_row_t *out, ik_role_t role, const char *text, size_t usable, size_t max,
                        ik_width_keep_t keep);
/* Appends spaces up to a column. */
void ik_choice_rows_pad(ik_row_t *out, ik_role_t role, size_t usable, size_t column);

/*
 * Text as rows, and where rows go. Sentences of ikigai are wrapped at words; lines of other origin
 * are never wrapped.
 */
#pragma once

#include "terminal/backlog.h"
#include "terminal/row.h"

enum { IK_ROWS_MAX = 400 }; /* rows of one text, unless full */

typedef void (*ik_rows_fn)(void *data, const char *bytes, size_t len);

/* Where rows go and how they look. */
typedef struct {
    const ik_theme_t *theme;
    int columns;
    const char *folder; /* of the project, for links to relative paths; NULL: no links */
    bool full;          /* do not cut long texts */
    bool brief;         /* results of tools in a few rows, unless full */
    ik_rows_fn on_row;
    void *data;
    const char *pictures;  /* folder of the images that are shown as previews; NULL: none are */
    ik_backlog_t *backlog; /* wraps sentences when they are printed; NULL: wrap at once */
} ik_rows_t;

/* Ends the row, passes it to on_row and empties it. */
void ik_rows_put(const ik_rows_t *rows, ik_row_t *row);
/* Counts lines; the last one need not end with a newline. */
size_t ik_rows_count_lines(const char *text, size_t len);
/* Offset of the last `lines` lines of a text. */
size_t ik_rows_find_tail(const char *text, size_t len, int lines);

/* Prints a sentence of ikigai, wrapped at words; an indent applies to all its rows. */
void ik_rows_say(const ik_rows_t *rows, ik_role_t role, const char *text);
/* Prints lines of any origin in one role, never wrapped. */
void ik_rows_lines(const ik_rows_t *rows, ik_role_t role, const char *text);
void ik_rows_gap(const ik_rows_t *rows);

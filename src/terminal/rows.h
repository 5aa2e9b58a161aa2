/*
 * Where finished rows go and how they look, and text as rows: sentences of ikigai's own, which are
 * wrapped at words, and lines of any origin, which never are.
 */
#pragma once

#include "terminal/backlog.h"
#include "terminal/row.h"

enum { IK_ROWS_MAX = 400 }; /* of one text, unless full */

typedef void (*ik_rows_fn)(void *data, const char *bytes, size_t len);

/* Where rows go and how they look. */
typedef struct {
    const ik_theme_t *theme;
    int columns;
    const char *folder; /* of the project: paths in it become links; NULL: none do */
    bool full;          /* everything; otherwise long texts are cut and say how to see the rest */
    ik_rows_fn on_row;
    void *data;
    ik_backlog_t *backlog; /* wraps text when it prints it; NULL: text is wrapped here */
} ik_rows_t;

/* Ends the row and hands it out; it is empty afterwards. */
void ik_rows_put(const ik_rows_t *rows, ik_row_t *row);
/* The last one need not be ended. */
size_t ik_rows_count_lines(const char *text, size_t len);
/* Where the last so many lines of a text begin. */
size_t ik_rows_find_tail(const char *text, size_t len, int lines);

/* A sentence of our own, wrapped at words; below an indented first row the others are, too. */
void ik_rows_say(const ik_rows_t *rows, ik_role_t role, const char *text);
/* Lines of any origin in one role, never wrapped. */
void ik_rows_lines(const ik_rows_t *rows, ik_role_t role, const char *text);
void ik_rows_gap(const ik_rows_t *rows);

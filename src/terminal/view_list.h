/*
 * A list that the user chooses from, in the live area: typing narrows it, Enter takes the
 * highlighted row, Esc none. In plain mode its rows are printed with numbers; a line that is one of
 * the numbers takes that row, any other line closes the list and is an ordinary line.
 */
#pragma once

#include "terminal/choice.h"
#include "terminal/view.h"

typedef struct ik_view_list ik_view_list_t;

typedef struct {
    const char *title; /* "Resume which session?" */
    const char *hint;  /* shown beside the title while nothing is typed; NULL: none */
    bool has_second;   /* Ctrl-S takes the highlighted row, too, and is reported as second */
    bool numbered;     /* rows have numbers: a digit takes its row at once, text narrows nothing */
    bool passes_text;  /* numbered: text closes the list and goes into the draft */
    bool from_end;     /* the last row is highlighted first */
    const ik_choice_row_t *rows;
    size_t count;
    bool pending; /* more rows will follow: call ik_view_list_set then */
    /* Called once from the loop, when the list is closed. value is that of the row that was taken,
     * its text if it has none, or NULL: the user took no row, or another list was opened. */
    void (*on_taken)(void *data, const char *value, bool second);
    void *data;
} ik_view_list_options_t;

/* Everything is copied. Another open list is closed first. The list is freed before on_taken is
 * called, and when the view is closed. */
ik_view_list_t *ik_view_list_open(ik_view_t *view, const ik_view_list_options_t *options);
/* Replaces the rows. What the user typed and the row that the user moved to are kept. Plain mode
 * prints the rows that are new. */
void ik_view_list_set(ik_view_list_t *list, const ik_choice_row_t *rows, size_t count,
                      bool pending);
/* Closes the list without calling on_taken. */
void ik_view_list_close(ik_view_list_t *list);

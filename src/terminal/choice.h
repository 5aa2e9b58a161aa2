/*
 * A list that narrows as the user types: it ranks the rows with fuzzy.h, tracks the chosen one and
 * shows a few around it. All lists of the terminal are such lists: completion, the search in
 * earlier messages, and the lists that commands open.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *text;  /* shown first and matched */
    const char *note;  /* columns shown beside it, separated by tabs; NULL: none */
    const char *also;  /* matched with less weight if the text does not match; NULL: nothing */
    const char *value; /* what the row stands for; NULL: the text */
    bool unfinished; /* a command that needs an argument: Enter completes it and does not run it */
} ik_choice_row_t;

typedef struct ik_choice ik_choice_t;

typedef enum {
    IK_CHOICE_SLASH = 1 << 0,    /* texts begin with a '/', which is not matched */
    IK_CHOICE_UNMARKED = 1 << 1, /* no row is chosen until the user moves */
} ik_choice_flag_t;

ik_choice_t *ik_choice_create(const void *ctx);
/* Sets the rows, which are borrowed. All match, and the first one is chosen. */
void ik_choice_set(ik_choice_t *choice, const ik_choice_row_t *rows, size_t count, unsigned flags);
/* Sets other rows and keeps the pattern. A row that the user moved to stays chosen if the new rows
 * have it; otherwise the best match is chosen. Does not read the old rows. */
void ik_choice_replace(ik_choice_t *choice, const ik_choice_row_t *rows, size_t count);
/* Keeps the rows that match, best first, and chooses the best. Cheap if the pattern only grew. */
void ik_choice_narrow(ik_choice_t *choice, const char *pattern, size_t len);

/* Number of matching rows. */
size_t ik_choice_count(const ik_choice_t *choice);
/* Index of the chosen row among all rows; SIZE_MAX: none. */
size_t ik_choice_chosen(const ik_choice_t *choice);
/* Chooses the next (1) or the previous (-1) match; wraps around at both ends. */
void ik_choice_move(ik_choice_t *choice, int direction);
/* Moves as many rows as are shown, but not past an end. */
void ik_choice_page(ik_choice_t *choice, int direction);
/* Chooses the first (-1) or the last (1) match. */
void ik_choice_go_to_end(ik_choice_t *choice, int direction);
/* Chooses the best match where none is chosen yet, or the row with this index if it matches. */
void ik_choice_choose_best(ik_choice_t *choice);
void ik_choice_choose(ik_choice_t *choice, size_t index);

/* Fills at most max indices of rows to show, including the chosen one. Returns how many. */
size_t ik_choice_show(ik_choice_t *choice, size_t max, size_t *indices);

/*
 * A list that narrows as the user types: it ranks the texts with fuzzy.h, tracks the chosen one and
 * shows a few around it.
 */
#pragma once

#include <stddef.h>

typedef struct ik_choice ik_choice_t;

enum { IK_CHOICE_MAX = 200 }; /* selectable matches; further ones are only counted */

ik_choice_t *ik_choice_create(const void *ctx);
/* Sets the texts, which are borrowed. All match, and the first one is chosen. */
void ik_choice_set(ik_choice_t *choice, const char *const *texts, size_t count);
/* Keeps the texts that match, best first, and chooses the best. Cheap if the pattern only grew. */
void ik_choice_narrow(ik_choice_t *choice, const char *pattern, size_t len);

/* Number of matching texts. */
size_t ik_choice_count(const ik_choice_t *choice);
/* Index of the chosen text among all texts; SIZE_MAX: none matches. */
size_t ik_choice_chosen(const ik_choice_t *choice);
/* Chooses the next (1) or the previous (-1) match; wraps around at both ends. */
void ik_choice_move(ik_choice_t *choice, int direction);
/* Chooses the match with this text, if it is selectable. */
void ik_choice_choose(ik_choice_t *choice, const char *text);

/* Fills at most max indices of texts to show, including the chosen one. Returns how many. */
size_t ik_choice_show(ik_choice_t *choice, size_t max, size_t *indices);

/*
 * A list to choose from that gets shorter as one types: ranked by fuzzy.h, one line chosen, a few
 * shown around it.
 */
#pragma once

#include <stddef.h>

typedef struct ik_choice ik_choice_t;

/* How many can be reached; those behind are only counted. */
enum { IK_CHOICE_MAX = 200 };

ik_choice_t *ik_choice_create(const void *ctx);
/* Other texts, all of them matching, the first one chosen. They are borrowed. */
void ik_choice_set(ik_choice_t *choice, const char *const *texts, size_t count);
/* Those that match, best first, and the best one chosen. Cheap when the pattern only grew. */
void ik_choice_narrow(ik_choice_t *choice, const char *pattern, size_t len);

/* Texts that match. */
size_t ik_choice_count(const ik_choice_t *choice);
/* The index among all texts of the chosen one; SIZE_MAX: nothing matches. */
size_t ik_choice_chosen(const ik_choice_t *choice);
/* The next one (1), the previous one (-1); from the end to the beginning and back. */
void ik_choice_move(ik_choice_t *choice, int direction);
/* The one that is this text, if it can be reached. */
void ik_choice_choose(ik_choice_t *choice, const char *text);

/* At most max indices for the lines to show, with the chosen one among them. Returns how many. */
size_t ik_choice_show(ik_choice_t *choice, size_t max, size_t *indices);

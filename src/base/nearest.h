/*
 * Spelling suggestions: finds the known word that is closest to an unknown one. That is the first
 * candidate that starts with the word, else the one with the smallest edit distance
 * (Damerau-Levenshtein), if that is small. Ignores case.
 */
#pragma once

#include <stddef.h>

typedef struct {
    const char *word; /* the unknown word */
    size_t len;
    const char *found; /* the closest candidate so far, or NULL */
    int distance;      /* of found; a candidate must be below it */
} ik_nearest_t;

void ik_nearest_init(ik_nearest_t *nearest, const char *word, size_t len);
/* candidate is borrowed as long as found is used. Of several equally close ones the first wins. */
void ik_nearest_offer(ik_nearest_t *nearest, const char *candidate);

/* The number of insertions, deletions, substitutions and swaps of neighbours between two words, or
 * INT_MAX if one of them is too long for a suggestion. */
int ik_nearest_distance(const char *a, size_t a_len, const char *b, size_t b_len);

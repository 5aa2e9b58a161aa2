/* Matching by subsequence: the letters typed, in order, not necessarily side by side, whatever
 * their case (of ASCII letters; others are compared as they are). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Negative: no match. Higher is better: letters side by side, at the beginning, at the beginning of
 * words (after / _ - . or a capital), short texts. Linear in both. */
int ik_fuzzy_score(const char *pattern, size_t pattern_len, const char *text, size_t text_len);
/* Whether there is a match at all, which is cheaper to know. */
bool ik_fuzzy_matches(const char *pattern, size_t pattern_len, const char *text, size_t text_len);

typedef struct {
    size_t index; /* in the list that was ranked */
    int score;
} ik_fuzzy_match_t;

/* The best max matches of texts, best first, equal ones in their order. Returns how many. */
size_t ik_fuzzy_rank(const char *pattern, size_t pattern_len, const char *const *texts,
                     size_t count, ik_fuzzy_match_t *out, size_t max);

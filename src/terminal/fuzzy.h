/* Subsequence matching: a text matches if it contains the letters of the pattern in order, not
 * necessarily adjacent. ASCII letters match in either case, all other bytes exactly. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether text matches; cheaper than ranking it. */
bool ik_fuzzy_matches(const char *pattern, size_t pattern_len, const char *text, size_t text_len);

typedef struct {
    size_t index; /* in the list that was ranked */
    int score;    /* 0 or more */
} ik_fuzzy_match_t;

/* Fills out with the best max matches, best first, and returns their number. Adjacent letters,
 * letters at the start of the text or of a word (after / _ - . or at a capital) and short texts
 * score higher. Equal scores keep the order of texts. Linear in the length of each text. */
size_t ik_fuzzy_rank(const char *pattern, size_t pattern_len, const char *const *texts,
                     size_t count, ik_fuzzy_match_t *out, size_t max);

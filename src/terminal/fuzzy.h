/* Subsequence matching: a text matches if it contains the letters of the pattern in order, not
 * necessarily adjacent. ASCII letters match in either case, all other bytes exactly. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* How well text matches, 0 or more; negative: not at all. Adjacent letters, letters at the start of
 * the text or of a word (after / _ - . or at a capital) and short texts score higher; the text that
 * is the pattern itself scores highest. Linear in the length of the text. */
int ik_fuzzy_score(const char *pattern, size_t pattern_len, const char *text, size_t text_len);

typedef struct {
    uint32_t index; /* of the text */
    int score;      /* 0 or more */
} ik_fuzzy_match_t;

/* Sorts by score, the best first; equal scores keep their order. Linear in count, so that a list of
 * all files of a large project stays fast. spare has room for count. */
void ik_fuzzy_sort(ik_fuzzy_match_t *matches, size_t count, ik_fuzzy_match_t *spare);

/*
 * The words in which two versions of a line differ. A word is a run of letters, digits and
 * underscores, or one wide character (Chinese has no spaces between words). White space and other
 * characters are compared as well; no grapheme is divided.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Changed parts of a line, in order and not adjacent, as offsets of bytes. */
typedef struct {
    struct {
        size_t from;
        size_t to;
    } * ranges;
    size_t count;
} ik_word_marks_t;

typedef struct {
    ik_word_marks_t old;
    ik_word_marks_t fresh;
    int similarity; /* percentage of the words of the longer line, in bytes, that both have */
} ik_word_diff_t;

enum { IK_WORD_DIFF_LINE_MAX = 8 * 1024 }; /* bytes of a line that is compared */

/* Returns false if the lines have no word in common, or are too long to compare: then they differ
 * as a whole. *effort limits the work of several calls and decreases; at 0 nothing is compared.
 * Marks are on ctx. */
bool ik_word_diff_run(const void *ctx, const char *old, size_t old_len, const char *fresh,
                      size_t fresh_len, size_t *effort, ik_word_diff_t *out);

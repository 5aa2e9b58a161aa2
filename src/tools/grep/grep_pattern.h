/*
 * A compiled search pattern, and the matcher that each thread creates for it. A line is found in up
 * to three steps: a scan for literals that every match contains, PCRE2 on bytes, and PCRE2 on
 * characters if that may give another result and the line is not ASCII. A line that is not valid
 * UTF-8 is matched as bytes.
 *
 * No pattern can hang the search: a line that takes too many steps is skipped and counted, and
 * after a number of such lines the pattern is exhausted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef struct ik_grep_pattern ik_grep_pattern_t;
typedef struct ik_grep_matcher ik_grep_matcher_t;

/* On success *pattern is allocated on ctx. The error message is for the user. */
res_t ik_grep_pattern_compile(const void *ctx, const char *text, size_t len, bool ignore_case,
                              ik_grep_pattern_t **pattern);

/* The number of lines skipped so far; may be called from any thread. */
size_t ik_grep_pattern_skipped(const ik_grep_pattern_t *pattern);
/* Whether so many lines were skipped that the search should end. */
bool ik_grep_pattern_exhausted(const ik_grep_pattern_t *pattern);

/* One per thread; ctx must belong to the thread, and the pattern must outlive the matcher. */
ik_grep_matcher_t *ik_grep_matcher_create(const void *ctx, ik_grep_pattern_t *pattern);

/* Must be called when the contents of the searched buffer have changed. */
void ik_grep_matcher_begin(ik_grep_matcher_t *matcher);

/* Returns a position in the first matching line of [from, end), or NULL. from must be the start of
 * a line and end the end of one; IK_LITERAL_SCAN_PAD bytes after end must be readable. */
const char *ik_grep_matcher_find(ik_grep_matcher_t *matcher, const char *from, const char *end);

/* Searches a piece of one line, without newlines. begins and ends: the piece begins or ends where
 * the line does. */
const char *ik_grep_matcher_find_piece(ik_grep_matcher_t *matcher, const char *from,
                                       const char *end, bool begins, bool ends);

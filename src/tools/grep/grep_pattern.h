/*
 * A search pattern, compiled, and the matcher each thread has of it. Finding a line goes through up
 * to three sieves: literals every match contains, then PCRE2 on bytes, then, where bytes and
 * characters can differ and the line holds more than ASCII, PCRE2 on characters. A line that is not
 * UTF-8 is matched as bytes.
 *
 * No pattern can hang the search: a line on which matching takes too many steps is passed over and
 * counted, and after a number of those the pattern counts as exhausted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef struct ik_grep_pattern ik_grep_pattern_t;
typedef struct ik_grep_matcher ik_grep_matcher_t;

/* On success *pattern belongs to ctx; the error's message is meant for the user. */
res_t ik_grep_pattern_compile(const void *ctx, const char *text, size_t len, bool ignore_case,
                              ik_grep_pattern_t **pattern);

/* Lines passed over so far; may be asked from any thread. */
size_t ik_grep_pattern_skipped(const ik_grep_pattern_t *pattern);
/* Whether so many were that the search should end. */
bool ik_grep_pattern_exhausted(const ik_grep_pattern_t *pattern);

/* One per thread; ctx must be the thread's own and the pattern outlive it. */
ik_grep_matcher_t *ik_grep_matcher_create(const void *ctx, ik_grep_pattern_t *pattern);

/* To be called when the bytes of the buffer have changed. */
void ik_grep_matcher_begin(ik_grep_matcher_t *matcher);

/* A place within the first matching line of [from, end), NULL when none matches. from is the start
 * of a line, end the end of one, and IK_LITERAL_SCAN_PAD bytes behind end are readable. */
const char *ik_grep_matcher_find(ik_grep_matcher_t *matcher, const char *from, const char *end);

/* The same in a piece of one line, which holds no newline; begins and ends say whether the line
 * does there. */
const char *ik_grep_matcher_find_piece(ik_grep_matcher_t *matcher, const char *from,
                                       const char *end, bool begins, bool ends);

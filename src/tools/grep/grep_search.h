/*
 * Searching one file: reads it through a buffer the thread keeps, finds the matching lines and
 * formats them as "path:line: content". Files are read with as few calls as possible and in pieces
 * that end at line ends; the buffer grows only for a line longer than itself.
 */
#pragma once

#include <stdbool.h>

#include "tools/grep/grep_answer.h"
#include "tools/grep/grep_pattern.h"

typedef struct ik_grep_search ik_grep_search_t;

/* Where the lines go. on_long, if set, is called when the text has grown long, to take it away. */
typedef struct {
    ik_grep_part_t part;
    bool measure; /* count only, the text is not wanted */
    void (*on_long)(void *data);
    void *data;
} ik_grep_search_output_t;

/* One per thread; ctx must be the thread's own. */
ik_grep_search_t *ik_grep_search_create(const void *ctx, ik_grep_pattern_t *pattern);

/* Searches an open file, whose output path is folder followed by name. A read that gives less than
 * was asked for is taken for the end of the file, unless patient (files of /proc). */
void ik_grep_search_file(ik_grep_search_t *search, int fd, bool patient, const char *folder,
                         const char *name, ik_grep_search_output_t *output);

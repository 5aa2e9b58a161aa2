/*
 * Searching one file: reads it through a buffer the thread keeps, finds the matching lines and
 * formats them as "path:line: content". Files are read with as few calls as possible and in pieces
 * that end at line ends; the buffer grows only for a line longer than itself, up to
 * IK_GREP_LINE_MAX. A longer line is searched in pieces that overlap, found at most once, and shown
 * as the text around what was found; holes and runs of NUL bytes in it are passed over.
 */
#pragma once

#include <stdbool.h>

#include "tools/grep/grep_answer.h"
#include "tools/grep/grep_pattern.h"

enum { IK_GREP_LINE_MAX = 16 * 1024 * 1024 };

typedef struct ik_grep_search ik_grep_search_t;

/* Where the lines go. on_long, if set, is called when the text has grown long, to take it away. */
typedef struct {
    ik_grep_part_t part;
    bool measure;    /* count only, the text is not wanted */
    size_t line_max; /* bytes of a line that can be wanted; the rest is only counted */
    void (*on_long)(void *data);
    void *data;
} ik_grep_search_output_t;

/* One per thread; ctx must be the thread's own. */
ik_grep_search_t *ik_grep_search_create(const void *ctx, ik_grep_pattern_t *pattern);

/* Searches an open file, whose output path is folder followed by name. A read that gives less than
 * was asked for is taken for the end of the file, unless patient (files of /proc). Returns 0 or the
 * errno value of a read that failed; what was found before is in the output. */
int ik_grep_search_file(ik_grep_search_t *search, int fd, bool patient, const char *folder,
                        const char *name, ik_grep_search_output_t *output);

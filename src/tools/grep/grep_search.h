/*
 * Searches one file and formats matching lines as "path:line: content". The thread's buffer is
 * filled with as few reads as possible and searched up to the last line end. It grows only for a
 * line longer than itself, up to IK_GREP_LINE_MAX. A longer line is searched in overlapping pieces
 * and reported at most once, as the text around the match; holes and runs of NUL bytes in it are
 * skipped.
 */
#pragma once

#include <stdbool.h>

#include "tools/grep/grep_answer.h"
#include "tools/grep/grep_pattern.h"

enum { IK_GREP_LINE_MAX = 16 * 1024 * 1024 };

typedef struct ik_grep_search ik_grep_search_t;

/* Receives the lines. on_long, if set, is called to take the text away when it has grown long. */
typedef struct {
    ik_grep_part_t part;
    bool measure;    /* count only, without text */
    size_t line_max; /* bytes of a line to format; the rest is only counted */
    void (*on_long)(void *data);
    void *data;
} ik_grep_search_output_t;

/* One per thread; ctx must belong to the thread. */
ik_grep_search_t *ik_grep_search_create(const void *ctx, ik_grep_pattern_t *pattern);

/* Searches an open file, which is shown as folder followed by name. A short read is taken for the
 * end of the file, unless patient (files in /proc read short). Returns 0 or the errno value of a
 * failed read; matches found before it are in the output. */
int ik_grep_search_file(ik_grep_search_t *search, int fd, bool patient, const char *folder,
                        const char *name, ik_grep_search_output_t *output);

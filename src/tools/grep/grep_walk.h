/*
 * Searches a file, or every file below a folder, with one thread per processor. Matches are added
 * to the answer in the order of their paths.
 */
#pragma once

#include <stdbool.h>

#include "tools/grep/grep_answer.h"
#include "tools/grep/grep_filter.h"
#include "tools/grep/grep_pattern.h"
#include "tools/grep/grep_report.h"

typedef struct {
    const char *path; /* file or folder; "" is the working folder and is not shown */
    const ik_grep_filter_t *filter;
    bool no_ignore; /* search hidden and excluded files too */
    ik_grep_pattern_t *pattern;
    ik_grep_answer_t *answer;
    ik_grep_report_t *report;
} ik_grep_walk_t;

/* What cannot be read is skipped and reported. */
void ik_grep_walk_run(const ik_grep_walk_t *walk);

/*
 * What a search has to say besides its matches: what could not be read, and what was skipped
 * because it is hidden or excluded. Shared by the threads of a walk.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/common/warning_list.h"

typedef struct {
    pthread_mutex_t lock; /* guards what follows */
    ik_warning_list_t warnings;
    bool unreadable; /* what the search was to begin with */
    uint64_t skipped_files;
    uint64_t skipped_folders;
} ik_grep_report_t;

void ik_grep_report_init(ik_grep_report_t *report, const void *ctx);

/* A file or folder could not be opened or read to its end; kind is "file" or "folder", the path is
 * folder followed by name. One that has gone or become a link since it was listed is no failure. */
void ik_grep_report_failure(ik_grep_report_t *report, const char *kind, const char *folder,
                            const char *name, int error);
void ik_grep_report_skipped(ik_grep_report_t *report, size_t files, size_t folders);

/*
 * Collects what a search reports besides its matches: what could not be read, and how much was
 * skipped because it is hidden or excluded. The threads of a walk share it.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/common/warning_list.h"

typedef struct {
    pthread_mutex_t lock; /* protects the members below */
    ik_warning_list_t warnings;
    bool unreadable; /* the file or folder to search could not be read */
    uint64_t skipped_files;
    uint64_t skipped_folders;
} ik_grep_report_t;

void ik_grep_report_init(ik_grep_report_t *report, const void *ctx);

/* Reports a file or folder that could not be opened or fully read. kind is "file" or "folder"; the
 * path is folder followed by name. An entry that has disappeared or become a link since it was
 * listed is not reported. */
void ik_grep_report_failure(ik_grep_report_t *report, const char *kind, const char *folder,
                            const char *name, int error);
void ik_grep_report_skipped(ik_grep_report_t *report, size_t files, size_t folders);

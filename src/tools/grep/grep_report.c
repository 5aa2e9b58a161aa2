#include "tools/grep/grep_report.h"

#include <errno.h>
#include <talloc.h>

void ik_grep_report_init(ik_grep_report_t *report, const void *ctx)
{
    *report = (ik_grep_report_t){0};
    pthread_mutex_init(&report->lock, NULL);
    ik_warning_list_init(&report->warnings, talloc_new(ctx));
}

void ik_grep_report_failure(ik_grep_report_t *report, const char *kind, const char *folder,
                            const char *name, int error)
{
    if (error == ENOENT || error == ELOOP || error == ENXIO) {
        return;
    }
    pthread_mutex_lock(&report->lock);
    ik_warning_list_add(&report->warnings, kind, folder, name, error);
    pthread_mutex_unlock(&report->lock);
}

void ik_grep_report_skipped(ik_grep_report_t *report, size_t files, size_t folders)
{
    if (files + folders > 0) {
        pthread_mutex_lock(&report->lock);
        report->skipped_files += files;
        report->skipped_folders += folders;
        pthread_mutex_unlock(&report->lock);
    }
}

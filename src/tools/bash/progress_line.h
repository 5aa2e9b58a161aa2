/*
 * Reports the output of a running command to ikigai, as JSON lines on the descriptor named by
 * IKIGAI_PROGRESS_FD: at most twenty lines a second, each short enough for an atomic write to a
 * pipe. Writing never blocks. When the command prints more than may be sent, only the newest part
 * is sent. Times are milliseconds of one monotonic clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IK_PROGRESS_LINE_NEVER INT64_MAX

typedef struct {
    int fd;         /* -1: progress is not wanted */
    bool heartbeat; /* send an empty line after a while without output */
    int64_t last;   /* when the last line went out */
    size_t len;
    char pending[4096];
} ik_progress_line_t;

/* Removes IKIGAI_PROGRESS_FD from the environment, so that children do not inherit it. */
void ik_progress_line_init(ik_progress_line_t *progress, bool heartbeat, int64_t now);
void ik_progress_line_add(ik_progress_line_t *progress, const char *bytes, size_t len);
/* Sends a line if one is due. */
void ik_progress_line_tick(ik_progress_line_t *progress, int64_t now);
/* When the next line is due; IK_PROGRESS_LINE_NEVER if none is. */
int64_t ik_progress_line_due(const ik_progress_line_t *progress);
/* Sends pending output at once and closes the descriptor. */
void ik_progress_line_finish(ik_progress_line_t *progress);

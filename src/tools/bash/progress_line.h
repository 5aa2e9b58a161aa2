/*
 * Tells ikigai what a command prints while it still runs, as JSON lines on the descriptor that
 * IKIGAI_PROGRESS_FD names: at most some twenty lines a second, never longer than what a pipe takes
 * at once, and never waiting. When more is printed than may be sent, the newest part is sent.
 * Times are milliseconds of one monotonic clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IK_PROGRESS_LINE_NEVER INT64_MAX

typedef struct {
    int fd;         /* -1: nobody listens */
    bool heartbeat; /* send an empty line when there is nothing else for a while */
    int64_t last;   /* when the last line went out */
    size_t len;
    char pending[4096];
} ik_progress_line_t;

/* Takes the descriptor out of the environment, so that children do not see it. */
void ik_progress_line_init(ik_progress_line_t *progress, bool heartbeat, int64_t now);
void ik_progress_line_add(ik_progress_line_t *progress, const char *bytes, size_t len);
/* Sends what is due. */
void ik_progress_line_tick(ik_progress_line_t *progress, int64_t now);
/* When tick has something to do next. */
int64_t ik_progress_line_due(const ik_progress_line_t *progress);
/* Sends what is pending, due or not, and closes. */
void ik_progress_line_finish(ik_progress_line_t *progress);

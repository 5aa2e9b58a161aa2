/*
 * Puts the files that segments changed back to what they were before. A file that is not what the
 * segments left is a conflict and is left alone, unless forced. Files are written as
 * base/replace_file does it, and never through a symbolic link.
 *
 * A run that is cut off, by a signal or because its end cannot be stored, is completed by the next
 * one for the same segments: its states list the files that the first one restored, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "checkpoint/place.h"
#include "checkpoint/segment.h"

typedef struct {
    const ik_segment_t *segments;
    size_t segment_count;
    const ik_segment_t *others; /* of other agents: what they changed is a conflict */
    size_t other_count;
    bool force;
    const char *const *paths; /* as in states; only these files and those below them, by force */
    size_t path_count;
    bool restricted; /* paths counts */
    bool dry_run;
    const char *what; /* names the segments: finds what is left of a run that was cut off */
} ik_restore_request_t;

typedef enum { IK_RESTORE_DONE, IK_RESTORE_CHANGED, IK_RESTORE_UNAVAILABLE } ik_restore_outcome_t;

typedef struct {
    const char *path;
    ik_restore_outcome_t outcome;
    const char *error; /* why writing failed; NULL: it did not */
} ik_restore_file_t;

typedef struct {
    ik_restore_file_t *files; /* sorted by path */
    size_t count;
    ik_state_t *before; /* of exactly the restored files; NULL: none was restored */
    ik_state_t *after;
} ik_restore_t;

res_t ik_restore_run(const void *ctx, ik_place_t *place, const ik_restore_request_t *request,
                     ik_restore_t *out);

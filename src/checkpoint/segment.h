/*
 * A segment is what one batch of tool calls did: the states before and after it. A state of the
 * caller is a list of states, of which a later one overrides the earlier ones.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "checkpoint/place.h"
#include "checkpoint/state.h"

typedef struct {
    ik_state_t **before;
    size_t before_count;
    ik_state_t **after;
    size_t after_count;
} ik_segment_t;

/* What a sequence of segments did to one file. */
typedef struct {
    const char *path;
    size_t len;
    const ik_entry_t *before; /* the first segment that changed it */
    const ik_state_t *before_owner;
    const ik_entry_t *after; /* the last one */
    const ik_state_t *after_owner;
    const ik_segment_t *first;
    bool between; /* it changed between two of the segments */
} ik_change_t;

/* All files that a segment changed, sorted by path, on ctx. */
ik_change_t *ik_segment_changes(const void *ctx, ik_place_t *place, const ik_segment_t *segments,
                                size_t count, size_t *change_count);
/* Whether a folder existed before the segment; path without a slash at its end. */
bool ik_segment_had_folder(const ik_segment_t *segment, const char *path, size_t len);

/* Whether a state of the segment was taken of another folder than that of the place. */
bool ik_segment_is_elsewhere(const ik_segment_t *segment, const ik_place_t *place);
/* Replaces its states by ones that list the changed files alone, under their paths in the place. */
void ik_segment_translate(const void *ctx, ik_segment_t *segment, ik_place_t *place);

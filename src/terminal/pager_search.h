/*
 * Search in the parts of a pager, forward or backward, wrapping around once. It runs in short
 * slices. A pattern without capitals ignores case.
 */
#pragma once

#include "terminal/pager_parts.h"

typedef struct ik_pager_search ik_pager_search_t;

typedef enum { IK_PAGER_FORWARD = 1, IK_PAGER_BACKWARD = -1 } ik_pager_direction_t;

typedef enum {
    IK_PAGER_SEARCH_PENDING,
    IK_PAGER_SEARCH_FOUND,
    IK_PAGER_SEARCH_FOUND_WRAPPED,
    IK_PAGER_SEARCH_NOT_FOUND,
} ik_pager_outcome_t;

/* Limits of one slice, whichever is reached first. */
enum { IK_PAGER_SLICE_PARTS = 256, IK_PAGER_SLICE_MS = 20 };

ik_pager_search_t *ik_pager_search_create(const void *ctx, ik_pager_parts_t *parts);
void ik_pager_search_set_pattern(ik_pager_search_t *search, const char *pattern);
/* As typed; NULL if there is none yet. */
const char *ik_pager_search_pattern(const ik_pager_search_t *search);

/* Starts at a line, including that line or not. The pattern must be set. */
void ik_pager_search_start(ik_pager_search_t *search, const ik_pager_position_t *from,
                           bool inclusive, ik_pager_direction_t direction);
/* Runs one slice. */
ik_pager_outcome_t ik_pager_search_continue(ik_pager_search_t *search, ik_pager_position_t *found);
int ik_pager_search_percent(const ik_pager_search_t *search);

/* The matches in lines first to last of a part, as marks on ctx. */
ik_pager_mark_t *ik_pager_search_marks(const void *ctx, const ik_pager_search_t *search,
                                       const ik_pager_part_t *part, size_t first, size_t last,
                                       ik_style_t style, size_t *count);

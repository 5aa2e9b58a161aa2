/*
 * Looking for a text in the parts of a pager, on or back, once all the way round. A search goes in
 * slices, each of which takes a moment at most. Without a capital in the pattern, capitals are not
 * told from small letters.
 */
#pragma once

#include "terminal/pager_parts.h"

typedef struct ik_pager_search ik_pager_search_t;

typedef enum { IK_PAGER_ON = 1, IK_PAGER_BACK = -1 } ik_pager_direction_t;

typedef enum {
    IK_PAGER_SEARCH_GOES_ON,
    IK_PAGER_SEARCH_FOUND,
    IK_PAGER_SEARCH_FOUND_ROUND, /* past the end and from the other one */
    IK_PAGER_SEARCH_IN_VAIN,
} ik_pager_outcome_t;

/* So many parts are looked at in one slice, unless time is up before. */
enum { IK_PAGER_SLICE_PARTS = 256, IK_PAGER_SLICE_MS = 20 };

ik_pager_search_t *ik_pager_search_create(const void *ctx, ik_pager_parts_t *parts);
void ik_pager_search_set_pattern(ik_pager_search_t *search, const char *pattern);
/* As it was typed; NULL: none yet. */
const char *ik_pager_search_pattern(const ik_pager_search_t *search);

/* From a line on, or back, with that line itself or without it. There is a pattern. */
void ik_pager_search_start(ik_pager_search_t *search, const ik_pager_place_t *from, bool with_it,
                           ik_pager_direction_t direction);
/* One slice. */
ik_pager_outcome_t ik_pager_search_continue(ik_pager_search_t *search, ik_pager_place_t *found);
int ik_pager_search_percent(const ik_pager_search_t *search);

/* What is to be marked in lines [first, last] of a part, on ctx. */
ik_pager_mark_t *ik_pager_search_marks(const void *ctx, const ik_pager_search_t *search,
                                       const ik_pager_part_t *part, size_t first, size_t last,
                                       ik_style_t style, size_t *count);

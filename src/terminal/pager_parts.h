/*
 * All parts of what a pager shows, of which only those used last are kept in memory, and places
 * among their lines.
 */
#pragma once

#include "terminal/pager_part.h"

typedef struct ik_pager_parts ik_pager_parts_t;

/* A line of a part. */
typedef struct {
    size_t part;
    size_t line;
} ik_pager_place_t;

/* At most so many parts are kept, and so many bytes beside the one used last. */
enum { IK_PAGER_PARTS_MAX = 256, IK_PAGER_BYTES_MAX = 8 * 1024 * 1024 };

ik_pager_parts_t *ik_pager_parts_create(const void *ctx, const ik_pager_source_t *source,
                                        int columns);
/* For another width: nothing is kept. */
void ik_pager_parts_resize(ik_pager_parts_t *parts, int columns);
size_t ik_pager_parts_count(const ik_pager_parts_t *parts);

/* Valid until the next call. */
const ik_pager_part_t *ik_pager_parts_get(ik_pager_parts_t *parts, size_t number);
/* The plain text of a part; it need not be kept for that. */
void ik_pager_parts_append_plain(ik_pager_parts_t *parts, size_t number, bool folded,
                                 ik_buffer_t *out);

/* Goes up to so many lines on or, when negative, back; returns how many it went. */
size_t ik_pager_parts_move(ik_pager_parts_t *parts, ik_pager_place_t *place, ptrdiff_t lines);
/* The first line, or the last one. False when there is none at all. */
bool ik_pager_parts_first(ik_pager_parts_t *parts, ik_pager_place_t *place);
bool ik_pager_parts_last(ik_pager_parts_t *parts, ik_pager_place_t *place);

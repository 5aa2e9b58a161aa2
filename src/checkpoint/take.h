/*
 * Takes the state of a folder, of named files, or both. A file is read only when nothing known
 * tells its content: an earlier state with the same status (size, times, inode, device, mode), or
 * the index of its git repository.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "checkpoint/place.h"
#include "checkpoint/state.h"

typedef struct {
    ik_state_t **previous; /* states whose status data saves reading; NULL entries do not occur */
    size_t previous_count;
    bool tree;
    const char *const *paths; /* absolute, also covered when ignored or outside the folder */
    size_t path_count;
} ik_take_request_t;

typedef struct {
    ik_state_t *state;
    bool changed;
    const char *limit; /* the setting that kept the folder from being covered; NULL: none */
} ik_take_t;

res_t ik_take_run(ik_place_t *place, const ik_take_request_t *request, ik_take_t *out);

/* A larger file is not kept. */
uint64_t ik_take_size_max(const ik_place_t *place);

/* What a file is now, to be compared with the two entries. Its content is only named, and only if
 * one of them has its size: reading a large file takes long. path is relative to the folder or
 * absolute. The entry's path is the caller's. */
ik_entry_t ik_take_look(ik_place_t *place, const char *path, const ik_entry_t *before,
                        const ik_entry_t *after);
/* Stores the state of exactly these files, which are sorted. An entry of known that is not NULL is
 * taken over; its content must be in the blobs. known may be NULL. */
res_t ik_take_exact(ik_place_t *place, const char *const *paths, const ik_entry_t *const *known,
                    size_t count, ik_state_t **out);

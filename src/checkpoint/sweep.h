/*
 * Removes states that are not needed and the contents that only they needed. Beyond a limit the
 * oldest states go, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct {
    const char *blobs;
    const char *const *keep; /* ids; all other states go */
    size_t keep_count;
    bool keep_all; /* states are removed only because of the limit */
    uint64_t max_bytes;
    /* These stay even beyond the limit. */
    const char *const *held;
    size_t held_count;
} ik_sweep_request_t;

typedef struct {
    uint64_t removed; /* contents */
    uint64_t bytes;
} ik_sweep_t;

/* Locks the blobs until the process ends: shared by those that store, exclusively to sweep. */
res_t ik_sweep_lock(const char *blobs, bool exclusive);

/* The caller holds the lock exclusively. */
res_t ik_sweep_run(const void *ctx, const ik_sweep_request_t *request, ik_sweep_t *out);

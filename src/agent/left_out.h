/*
 * The tools whose definition a provider rejected, per target. They are left out of requests to that
 * target until the program ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char **pairs; /* target, tool, target, tool … */
    size_t count;       /* of pairs */
} ik_left_out_t;

/* Copies both strings. The pairs are allocated on ctx. */
void ik_left_out_add(ik_left_out_t *left_out, const void *ctx, const char *target,
                     const char *tool);
bool ik_left_out_has(const ik_left_out_t *left_out, const char *target, const char *tool);

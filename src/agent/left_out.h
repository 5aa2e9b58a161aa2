/*
 * The tools that a provider refused to be told of, for each target: they are left out of requests
 * to it for as long as the program runs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char **pairs; /* target, tool, target, tool … */
    size_t count;       /* of pairs */
} ik_left_out_t;

/* Both texts are copied; what is needed for it is allocated on ctx. */
void ik_left_out_add(ik_left_out_t *left_out, const void *ctx, const char *target,
                     const char *tool);
bool ik_left_out_has(const ik_left_out_t *left_out, const char *target, const char *tool);

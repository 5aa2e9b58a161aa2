#include "agent/left_out.h"

#include <string.h>

#include "base/alloc.h"

void ik_left_out_add(ik_left_out_t *left_out, const void *ctx, const char *target, const char *tool)
{
    left_out->pairs =
        ik_resize_array(ctx, left_out->pairs, const char *, 2 * (left_out->count + 1));
    left_out->pairs[2 * left_out->count] = ik_strdup(left_out->pairs, target);
    left_out->pairs[2 * left_out->count + 1] = ik_strdup(left_out->pairs, tool);
    left_out->count++;
}

bool ik_left_out_has(const ik_left_out_t *left_out, const char *target, const char *tool)
{
    for (size_t i = 0; i < left_out->count; i++) {
        if (strcmp(left_out->pairs[2 * i], target) == 0 &&
            strcmp(left_out->pairs[2 * i + 1], tool) == 0) {
            return true;
        }
    }
    return false;
}

/* What a tool does besides reading: where it writes, and whether it uses the network. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    IK_WRITE_NONE,
    IK_WRITE_PROJECT,
    IK_WRITE_ANYWHERE,
} ik_write_t;

typedef struct {
    ik_write_t write;
    bool network;
} ik_effects_t;

/* "none", "project", "anywhere" */
static inline const char *ik_effects_write_name(ik_write_t write)
{
    static const char *const names[] = {"none", "project", "anywhere"};
    return names[write];
}

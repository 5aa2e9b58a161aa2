/* What a tool does besides reading: where it writes, and whether it uses the network. */
#pragma once

#include <stdbool.h>

typedef enum {
    IK_WRITE_NONE,
    IK_WRITE_PROJECT,
    IK_WRITE_ANYWHERE,
} ik_write_t;

typedef struct {
    ik_write_t write;
    bool network;
} ik_effects_t;

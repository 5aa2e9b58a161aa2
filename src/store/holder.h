/*
 * Who writes a session: a process of a machine. The start of the process tells a pid from the same
 * number given to another one later.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { IK_HOLDER_HOST_MAX = 64 };

typedef struct {
    int64_t pid;
    int64_t started; /* in clock ticks since the machine did; 0: unknown */
    char host[IK_HOLDER_HOST_MAX + 1];
} ik_holder_t;

/* This process. */
ik_holder_t ik_holder_self(void);
bool ik_holder_equal(const ik_holder_t *a, const ik_holder_t *b);
/* False only when it is certain: a process of this machine that is no more. */
bool ik_holder_may_live(const ik_holder_t *holder);

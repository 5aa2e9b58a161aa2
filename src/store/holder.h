/*
 * The process that writes a session. A pid may be reused, so the time the process started is part
 * of its identity.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { IK_HOLDER_HOST_MAX = 64 };

typedef struct {
    int64_t pid;
    int64_t started; /* in clock ticks since boot; 0: unknown */
    char host[IK_HOLDER_HOST_MAX + 1];
} ik_holder_t;

/* This process. */
ik_holder_t ik_holder_self(void);
bool ik_holder_equal(const ik_holder_t *a, const ik_holder_t *b);
/* False only when the process is known to have ended, which can be known on this machine only. */
bool ik_holder_may_live(const ik_holder_t *holder);

/* "in use by pid 4711 on HOST", for messages about a session; "in use" when the pid is 0. */
typedef struct {
    char text[IK_HOLDER_HOST_MAX + 48];
} ik_holder_use_t;
ik_holder_use_t ik_holder_describe_use(const ik_holder_t *holder);

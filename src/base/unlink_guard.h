/*
 * Removes a name when this process dies before it could. Between the moment a temporary file gets a
 * name and the moment it is renamed, a SIGKILL would leave it behind; no handler can help, so a
 * tiny process of its own session watches. It holds one end of a socket: the end of file without a
 * byte means that we died, and it unlinks the name.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

typedef struct {
    pid_t pid; /* 0: not running */
    int socket;
} ik_unlink_guard_t;

/* Call before the name exists; returns when the guard is ready. folder stays the caller's. False
 * with errno set. */
bool ik_unlink_guard_start(ik_unlink_guard_t *guard, int folder, const char *name);
/* Call when the name is gone; does nothing when the guard is not running. */
void ik_unlink_guard_stop(ik_unlink_guard_t *guard);

/*
 * Removes a temporary file when this process is killed before it can. A SIGKILL between naming a
 * temporary file and renaming it would leave it behind, and no handler can prevent that, so a small
 * process in a session of its own watches. It holds one end of a socket: an end of file without a
 * byte means that this process died, and the guard unlinks the name.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

typedef struct {
    pid_t pid; /* 0: not running */
    int socket;
} ik_unlink_guard_t;

/* Call before the name exists; returns when the guard is ready. The caller keeps folder. Returns
 * false and sets errno on failure. */
bool ik_unlink_guard_start(ik_unlink_guard_t *guard, int folder, const char *name);
/* Call when the name is gone; does nothing when the guard is not running. */
void ik_unlink_guard_stop(ik_unlink_guard_t *guard);

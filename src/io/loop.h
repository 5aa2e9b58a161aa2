/*
 * The one event loop. Everything that waits (descriptors, timers) goes through here; this folder is
 * the only one that knows it is libuv.
 *
 * Lifetimes: a timer or watch is a talloc child of the ctx it was created on and can be freed at
 * any moment, from inside its own callback too; no callback comes after that. The libuv handle
 * behind it lives on until libuv has let go of it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct ik_loop ik_loop_t;
typedef struct ik_timer ik_timer_t;
typedef struct ik_watch ik_watch_t;

typedef void (*ik_timer_fn)(void *data);
typedef void (*ik_watch_fn)(void *data);

/* Freeing the loop requires that everything created on it was freed before. */
res_t ik_loop_create(const void *ctx, ik_loop_t **out);

/* Handles events until *done becomes true, or nothing is left that could make it so (false). */
bool ik_loop_run_until(ik_loop_t *loop, const bool *done);

/* Not running until started. start restarts a running one; it fires once. */
ik_timer_t *ik_timer_create(const void *ctx, ik_loop_t *loop, ik_timer_fn on_timer, void *data);
void ik_timer_start(ik_timer_t *timer, int64_t after_ms);
void ik_timer_stop(ik_timer_t *timer);

/* Calls back whenever fd is readable or at its end. The watch owns fd and closes it when freed. */
ik_watch_t *ik_watch_create(const void *ctx, ik_loop_t *loop, int fd, ik_watch_fn on_readable,
                            void *data);
/* The same for an fd that stays the caller's, who frees the watch before closing it. An fd has at
 * most one watch. */
typedef enum { IK_WATCH_READABLE, IK_WATCH_WRITABLE } ik_watch_event_t;
ik_watch_t *ik_watch_create_borrowed(const void *ctx, ik_loop_t *loop, int fd,
                                     ik_watch_event_t event, ik_watch_fn on_ready, void *data);
int ik_watch_fd(const ik_watch_t *watch);

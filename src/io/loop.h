/*
 * The event loop. Every wait for a descriptor or a timer goes through it. It uses libuv, which only
 * this folder knows.
 *
 * A timer or watch is a talloc child of the ctx it was created on and can be freed at any time,
 * even from its own callback; no callback comes after that.
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

/* Everything created on the loop must be freed before the loop. */
res_t ik_loop_create(const void *ctx, ik_loop_t **out);

/* Handles events until *done is true. False when no timer or watch is left that could set it. */
bool ik_loop_run_until(ik_loop_t *loop, const bool *done);

/* A descriptor that is readable while a signal waits to be handled, for code that has to wait
 * outside of the loop. It must not be read. */
int ik_loop_signal_fd(ik_loop_t *loop);

/* A timer fires once after each start; starting a running one restarts it. */
ik_timer_t *ik_timer_create(const void *ctx, ik_loop_t *loop, ik_timer_fn on_timer, void *data);
void ik_timer_start(ik_timer_t *timer, int64_t after_ms);
void ik_timer_stop(ik_timer_t *timer);

/* Calls on_readable whenever fd is readable or at its end. The watch owns fd and closes it when
 * freed. */
ik_watch_t *ik_watch_create(const void *ctx, ik_loop_t *loop, int fd, ik_watch_fn on_readable,
                            void *data);
/* As ik_watch_create for an fd that the caller owns; the caller must free the watch before closing
 * it. An fd can have only one watch. */
typedef enum { IK_WATCH_READABLE, IK_WATCH_WRITABLE } ik_watch_event_t;
ik_watch_t *ik_watch_create_borrowed(const void *ctx, ik_loop_t *loop, int fd,
                                     ik_watch_event_t event, ik_watch_fn on_ready, void *data);
int ik_watch_fd(const ik_watch_t *watch);

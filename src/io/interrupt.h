/*
 * Delivers the signals that ask the program to stop (SIGINT, SIGTERM, SIGHUP) as a callback from
 * the loop. Freeing it restores their default action.
 */
#pragma once

#include "io/loop.h"

typedef struct ik_interrupt ik_interrupt_t;

typedef void (*ik_interrupt_fn)(void *data, int signal);

/* A signal that was ignored when the program started (nohup) stays ignored. */
ik_interrupt_t *ik_interrupt_create(const void *ctx, ik_loop_t *loop, ik_interrupt_fn on_interrupt,
                                    void *data);

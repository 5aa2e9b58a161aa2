/*
 * One signal as a callback from the loop. Freed like a timer, inside its callback too; from then on
 * the signal acts as it does by default.
 */
#pragma once

#include <stdbool.h>

#include "io/loop.h"

typedef struct ik_signal_watch ik_signal_watch_t;

typedef void (*ik_signal_watch_fn)(void *data, int signal);

/* Whether the program was started with the signal ignored (nohup), or ignores it itself. */
bool ik_signal_watch_is_ignored(int signal);

/* A signal that is ignored stays ignored: NULL. Does not keep the loop alive. */
ik_signal_watch_t *ik_signal_watch_create(const void *ctx, ik_loop_t *loop, int signal,
                                          ik_signal_watch_fn on_signal, void *data);

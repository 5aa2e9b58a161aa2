/*
 * Delivers one signal as a callback from the loop. It can be freed at any time, even from its own
 * callback; the signal then has its default action.
 */
#pragma once

#include <stdbool.h>

#include "io/loop.h"

typedef struct ik_signal_watch ik_signal_watch_t;

typedef void (*ik_signal_watch_fn)(void *data, int signal);

/* Whether the signal is ignored, by the program itself or since it was started (nohup). */
bool ik_signal_watch_is_ignored(int signal);

/* Does not keep the loop alive. Returns NULL for an ignored signal, which stays ignored. */
ik_signal_watch_t *ik_signal_watch_create(const void *ctx, ik_loop_t *loop, int signal,
                                          ik_signal_watch_fn on_signal, void *data);

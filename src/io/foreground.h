/*
 * A program that gets the terminal for itself, as an editor does. It is a child of ours in our own
 * process group, so that Ctrl-Z stops both and the shell sees one job; keys that interrupt are its
 * own business while it runs. Should we die, it gets SIGHUP. The loop goes on meanwhile. The caller
 * leaves the terminal before (io/tty.h) and enters it again afterwards.
 */
#pragma once

#include "base/error.h"
#include "io/loop.h"

typedef struct ik_foreground ik_foreground_t;

/* status: of exit, or 128 + signal. */
typedef void (*ik_foreground_fn)(void *data, int status);

/* argv[0] is searched in PATH. Frees itself after on_end, which comes from the loop. Freeing it
 * earlier sends SIGHUP and waits a moment for its end, in which it can put the terminal back. */
res_t ik_foreground_start(const void *ctx, ik_loop_t *loop, const char *const *argv,
                          ik_foreground_fn on_end, void *data, ik_foreground_t **out);

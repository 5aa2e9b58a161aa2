/*
 * Runs a program that takes over the terminal, such as an editor. It is a child in our own process
 * group, so that Ctrl-Z stops both and the shell sees one job. While it runs, ikigai ignores the
 * keys that interrupt (Ctrl-C, Ctrl-\). If ikigai dies, the program gets SIGHUP. The loop goes on
 * meanwhile. The caller must leave the terminal before (io/tty.h) and enter it again afterwards.
 */
#pragma once

#include "base/error.h"
#include "io/loop.h"

typedef struct ik_foreground ik_foreground_t;

/* status is the exit status, or 128 + the signal that ended the program. */
typedef void (*ik_foreground_fn)(void *data, int status);

/* Looks up argv[0] in PATH. on_end comes from the loop; afterwards the object frees itself. Freeing
 * it earlier sends SIGHUP and waits up to half a second, so that the program can restore the
 * terminal. */
res_t ik_foreground_start(const void *ctx, ik_loop_t *loop, const char *const *argv,
                          ik_foreground_fn on_end, void *data, ik_foreground_t **out);

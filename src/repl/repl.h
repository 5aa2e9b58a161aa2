/*
 * The interactive program. It draws the prompt first; tools, models, the history and the network
 * are set up from the loop after the first frame, and lines entered in the meantime are queued.
 */
#pragma once

#include <stdbool.h>

#include "base/config.h"
#include "base/paths.h"
#include "io/process.h"
#include "workspace/workspace.h"

typedef struct {
    const ik_paths_t *paths;
    ik_config_t *config;
    ik_loop_t *loop;
    ik_process_host_t *host;
    const ik_workspace_start_t *start;
    bool plain;     /* read and print lines only */
    const char *db; /* the value of --db; NULL: it was not given */
} ik_repl_options_t;

/* Blocks; returns the exit status: 0 when the user left, 1 if the requested session could not be
 * opened, 2 without a terminal or a usable model, 128 + N when signal N ended the program. */
int ik_repl_run(const void *ctx, const ik_repl_options_t *options);

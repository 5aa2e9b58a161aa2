/*
 * The interactive program. The prompt is there at once; tools, models, the history and the network
 * come after the first frame, from the loop, and what is entered meanwhile waits for them.
 */
#pragma once

#include <stdbool.h>

#include "base/config.h"
#include "base/paths.h"
#include "io/process.h"

typedef struct {
    const ik_paths_t *paths;
    const ik_config_t *config;
    ik_loop_t *loop;
    ik_process_host_t *host;
    const char *prompt; /* the first message; NULL: none */
    bool plain;         /* lines only */
    bool without_tools;
    bool trust; /* the project's tools, for this run */
    bool continue_last;
    const char *resume; /* an id or the beginning of one; NULL: none */
    bool fork;          /* go on in a copy */
} ik_repl_options_t;

/* Blocks; returns the exit status: 0 when the user left, 1 when it could not begin, 2 for a wrong
 * configuration, 128 + N when signal N ended it. */
int ik_repl_run(const void *ctx, const ik_repl_options_t *options);

/*
 * `ikigai -p`: runs one turn without a terminal. The answer goes to standard output, as text or as
 * JSON lines; everything else goes to standard error.
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
    bool json;
} ik_headless_options_t;

/* Blocks; returns the exit status: 0 done, 1 failed, 2 usage or configuration, 128 + N if
 * interrupted by signal N. */
int ik_headless_run(const void *ctx, const ik_headless_options_t *options);

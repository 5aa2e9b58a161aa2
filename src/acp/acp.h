/*
 * `ikigai acp`: an editor drives ikigai through the Agent Client Protocol, version 1: JSON-RPC in
 * lines on standard input and output. Each session is a workspace of its own, in the folder that
 * the editor names; all of them share one loop, so that a turn in one never waits for another.
 */
#pragma once

#include "base/config.h"
#include "base/paths.h"
#include "io/process.h"

typedef struct {
    const ik_paths_t *paths;
    const ik_config_t *config;      /* of the folder in which the program was started */
    const ik_config_flags_t *flags; /* for the configuration of each session */
    ik_loop_t *loop;
    ik_process_host_t *host;
    const char *version; /* of ikigai */
    bool trust;          /* what the projects add, for this run */
} ik_acp_options_t;

/* Blocks until the editor closes the connection (0), standard output cannot be written (1), or
 * signal N ends the program (128 + N). */
int ik_acp_run(const void *ctx, const ik_acp_options_t *options);

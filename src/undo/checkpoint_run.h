/*
 * Runs the program checkpoint (src/checkpoint), which records the files of a folder, compares
 * recorded states and restores them. A run is one operation: a JSON object in, a JSON object out.
 * It is bounded in time and output, and the event loop goes on meanwhile.
 */
#pragma once

#include <jansson.h>

#include "base/paths.h"
#include "io/process.h"

typedef struct ik_checkpoint_run ik_checkpoint_run_t;

/* answer is borrowed, and NULL when result is an error: one sentence without a full stop that says
 * why the operation failed. */
typedef void (*ik_checkpoint_run_fn)(void *data, const res_t *result, const json_t *answer);

typedef struct {
    ik_process_host_t *host;
    const ik_paths_t *paths;
    const json_t *request; /* borrowed until the start; the paths are added to it */
    const char *folder;    /* that it is about; NULL: none */
    const char *database;  /* of the session, which a state leaves out; NULL: none */
    int64_t max_ms;
    ik_checkpoint_run_fn on_end;
    void *data;
} ik_checkpoint_run_options_t;

/* A path as the program takes it: text or, where that is not UTF-8, {"path_base64"}. */
json_t *ik_checkpoint_run_path(const char *path);

/* on_end is called once, from the loop. Freeing the run before that cancels it. */
ik_checkpoint_run_t *ik_checkpoint_run_start(const void *ctx,
                                             const ik_checkpoint_run_options_t *options);

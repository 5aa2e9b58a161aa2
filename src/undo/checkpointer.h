/*
 * Records the files of a folder for the agents of a workspace (agent/checkpoints.h), by running the
 * program checkpoint. It remembers the last state, so that only files whose stat data changed are
 * read again.
 *
 * Calls of file_write and file_edit name the file that they change. If a step has no other call
 * that may write, only these files are recorded, which takes no time worth mentioning.
 */
#pragma once

#include "agent/checkpoints.h"
#include "base/config.h"
#include "base/paths.h"

typedef struct ik_checkpointer ik_checkpointer_t;

typedef struct {
    ik_process_host_t *host;
    const ik_paths_t *paths;
    const ik_config_t *config;
    /* Number of processes that may change files at any time: while it is not 0, what was recorded
     * for a call that is expected is recorded again. */
    const size_t *others;
} ik_checkpointer_options_t;

/* What options points to must outlive it. Starts nothing. */
ik_checkpointer_t *ik_checkpointer_create(const void *ctx,
                                          const ik_checkpointer_options_t *options);
const ik_checkpoints_t *ik_checkpointer_checkpoints(ik_checkpointer_t *checkpointer);

/* Another session begins: problems are reported again. */
void ik_checkpointer_restart(ik_checkpointer_t *checkpointer);
/* The user has changed files: what was recorded for a call that is expected is out of date. */
void ik_checkpointer_discard(ik_checkpointer_t *checkpointer);
/* For how long it has been recording; -1: it is not. */
int64_t ik_checkpointer_busy_ms(const ik_checkpointer_t *checkpointer);

/* Records the state after calls that a crash cut off. on_taken is called once, from the loop;
 * freeing ctx cancels it. */
void ik_checkpointer_end(ik_checkpointer_t *checkpointer, const void *ctx, const ik_call_t *calls,
                         size_t count, ik_checkpoint_fn on_taken, void *data);

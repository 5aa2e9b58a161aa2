/*
 * Records what the files are like before and after tool calls that may write, so that what an agent
 * changed can be undone. Recording never stops a call: where it is not possible the user is told.
 */
#pragma once

#include "agent/call_gate.h"

/* Pointers are valid inside the callback only. */
typedef struct {
    const char *const *states; /* ids for ik_msg_create_checkpoint */
    size_t count;              /* 0: the state was not recorded */
    const char *notice;        /* one line for the user; NULL: none */
    bool failed;               /* notice says why the state was not recorded */
} ik_checkpoint_t;

typedef void (*ik_checkpoint_fn)(void *data, const ik_checkpoint_t *taken);

typedef struct {
    /* A call of this tool that may write will probably follow: begins to record while the model
     * still writes. */
    void (*expect)(void *checkpoints, int64_t agent, const ik_tool_registry_entry_t *entry);
    /* Records the state before the first call of a step that may write; calls are all of the step.
     * on_taken is called once, from the loop. Returns the segment, on ctx; freeing it cancels what
     * is being recorded. */
    void *(*begin)(void *checkpoints, const void *ctx, const ik_call_t *calls, size_t count,
                   ik_checkpoint_fn on_taken, void *data);
    /* Records the state after the calls of a segment whose beginning was recorded. */
    void (*end)(void *segment, ik_checkpoint_fn on_taken, void *data);
    void *checkpoints; /* the first argument of expect and begin */
} ik_checkpoints_t;

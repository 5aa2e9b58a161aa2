/*
 * The calls of one answer. Each passes the gate and then starts, in order, one after the other;
 * only adjacent calls of tools that declare themselves parallel overlap. Results are handed out in
 * the order of the calls.
 */
#pragma once

#include "agent/shared.h"
#include "conversation/message.h"
#include "provider/provider.h"

typedef struct ik_call_batch ik_call_batch_t;

typedef struct {
    const ik_shared_ctx_t *shared;
    const ik_tool_registry_t *registry; /* lives until the end; may be NULL */
    const char *session_id;
    int64_t agent;                /* its number in the session */
    const ik_target_t *target;    /* who made the calls */
    long limit;                   /* of tool turns; put into the last result; 0: not reached */
    const ik_msg_t *const *calls; /* live until the end */
    size_t count;
    void (*on_started)(void *data, const ik_msg_t *call);
    void (*on_progress)(void *data, const ik_msg_t *call, const char *text, size_t len);
    /* In order; result is NULL-parented: the receiver takes it over. */
    void (*on_result)(void *data, ik_msg_t *result);
    /* After the last result; the owner frees the batch, here or later. */
    void (*on_end)(void *data);
    void *data;
} ik_call_batch_options_t;

/* Callbacks come from the loop, later, but for on_started of the first calls. Freeing the batch
 * ends its tools silently. */
ik_call_batch_t *ik_call_batch_start(const void *ctx, const ik_call_batch_options_t *options);
/* Ends what runs and starts nothing more; every call without a result is INTERRUPTED. */
void ik_call_batch_interrupt(ik_call_batch_t *batch);

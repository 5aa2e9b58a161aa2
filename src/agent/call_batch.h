/*
 * Runs the tool calls of one answer. Each call passes the gate before it starts. Calls run one
 * after the other, except that adjacent calls of tools declared parallel overlap. Results are
 * delivered in the order of the calls.
 *
 * What hooks said about the calls before they were stored is part of the options. The after_tool
 * hooks run when a call has ended, and its result waits for them.
 *
 * The state of the files is recorded before the first call that may write starts, and after the
 * last call has ended. While the gate keeps the next call waiting, usually for the user, nothing of
 * the batch runs: the segment ends there, and the next call that may write begins another one.
 */
#pragma once

#include "agent/call_review.h"
#include "agent/shared.h"
#include "conversation/message.h"
#include "provider/provider.h"

typedef struct ik_call_batch ik_call_batch_t;

typedef struct {
    const ik_shared_ctx_t *shared;
    const ik_tool_registry_t *registry; /* outlives the batch; may be NULL */
    const char *session_id;
    int64_t agent;                /* its number in the session */
    const ik_target_t *target;    /* the model that made the calls */
    long limit;                   /* of tool turns, stated in the last result; 0: not reached */
    const ik_msg_t *const *calls; /* outlive the batch */
    size_t count;
    const ik_call_review_t *review; /* outlives the batch; NULL: no hook was asked */
    bool stopped;                   /* no call starts: those not denied get INTERRUPTED */
    void (*on_started)(void *data, const ik_msg_t *call);
    void (*on_progress)(void *data, const ik_msg_t *call, const char *text, size_t len);
    /* Extends the envelope of a call that ran, right before its result is delivered; returns the
     * envelope itself or another one on ctx. May be NULL. */
    char *(*on_envelope)(void *data, const void *ctx, const ik_call_t *call, char *envelope);
    /* In the order of the calls. The receiver owns result, which has no talloc parent. */
    void (*on_result)(void *data, ik_msg_t *result);
    /* The state of the files around calls. May be NULL: it is not recorded. */
    void (*on_checkpoint)(void *data, ik_msg_phase_t phase, const ik_checkpoint_t *taken);
    /* A hook ends the turn; ik_call_batch_interrupt may be called. */
    void (*on_stop)(void *data);
    /* After the last result. The owner frees the batch here or later. */
    void (*on_end)(void *data);
    void *data;
} ik_call_batch_options_t;

/* on_started of the first calls may come before this returns; all other callbacks come later from
 * the loop. Freeing the batch ends its tools without further callbacks. */
ik_call_batch_t *ik_call_batch_start(const void *ctx, const ik_call_batch_options_t *options);
/* Ends running tools and starts no others; every call without a result gets INTERRUPTED. */
void ik_call_batch_interrupt(ik_call_batch_t *batch);

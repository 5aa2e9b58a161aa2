/*
 * Asks the before_tool hooks about the calls of an answer, before the answer is stored: what is
 * stored, sent and run are the arguments as hooks left them. Calls are reviewed in order; adjacent
 * calls of tools declared parallel are reviewed together. A call that cannot run, because its tool
 * does not exist or its arguments are not an object, is not reviewed.
 */
#pragma once

#include "agent/shared.h"
#include "provider/stream.h"

typedef struct ik_call_review ik_call_review_t;

typedef struct {
    const ik_shared_ctx_t *shared;
    const ik_tool_registry_t *registry; /* may be NULL */
    int64_t agent;
    ik_stream_t *stream; /* finished; rewritten arguments replace those of its calls */
    void (*on_end)(void *data);
    void *data;
} ik_call_review_options_t;

/* NULL: no hook wants to know of these calls. Otherwise on_end is called once, from the loop.
 * Freeing the review ends its hooks without a callback. */
ik_call_review_t *ik_call_review_start(const void *ctx, const ik_call_review_options_t *options);
/* What hooks say about the call with this index among the calls of the answer; NULL: nothing, or
 * not yet. Valid until the review is freed. */
const ik_hook_outcome_t *ik_call_review_outcome(const ik_call_review_t *review, size_t index);
/* Whether a hook ends the turn. */
bool ik_call_review_stops(const ik_call_review_t *review);

/* The arguments of a call as its tool gets them: restored from the form that the provider made of
 * its schema; on ctx. */
char *ik_call_review_arguments(const void *ctx, const ik_target_t *target,
                               const ik_tool_registry_entry_t *entry, const char *arguments,
                               size_t *len);

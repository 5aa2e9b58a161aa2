/*
 * Keeps the requests of one turn within the model's context window: before a request that would
 * fill too much of it, and after a server refused one as too long. It asks the model for a summary
 * of older messages, at most once per request, and otherwise trims old tool results or, as the last
 * resort, removes older messages. Each change is recorded as a compaction in the conversation, and
 * the user is told before and after.
 */
#pragma once

#include "agent/agent.h"

typedef struct ik_compactor ik_compactor_t;

typedef enum {
    IK_COMPACTOR_NONE,    /* nothing was changed: nothing is needed, or nothing is left to do */
    IK_COMPACTOR_CHANGED, /* the request has to be built again */
    IK_COMPACTOR_ASKS,    /* the model is asked for a summary: on_end follows, from the loop */
} ik_compactor_outcome_t;

/* changed: the request that was refused has to be built again; otherwise it would be the same. The
 * callback may free the compactor. */
typedef void (*ik_compactor_end_fn)(void *data, bool changed);

ik_compactor_t *ik_compactor_create(const void *ctx, ik_agent_t *agent, ik_compactor_end_fn on_end,
                                    void *data);

/* In each of these, request is the one that would be sent next, made for agent->wire. It lives
 * until on_end. Freeing the compactor cancels a summary and leaves the conversation as it is. */

/* Before a request is sent. */
ik_compactor_outcome_t ik_compactor_prepare(ik_compactor_t *compactor, const ik_request_t *request);
/* After a server refused a request of `sent` bytes as too long. continues: it continues an answer,
 * which needs the same messages; only tool results are trimmed. */
ik_compactor_outcome_t ik_compactor_recover(ik_compactor_t *compactor, const ik_request_t *request,
                                            size_t sent, bool continues);
/* As the user asked; focus says what to keep, or is NULL. */
ik_compactor_outcome_t ik_compactor_compact(ik_compactor_t *compactor, const ik_request_t *request,
                                            const char *focus);

/* The model answered a request: before the next one, a summary may be asked for again. */
void ik_compactor_accept_answer(ik_compactor_t *compactor);
/* Another model takes over, whose window may differ. */
void ik_compactor_start_over(ik_compactor_t *compactor);
/* Time since anything of the summary was received; -1: none is arriving. */
int64_t ik_compactor_silent_ms(const ik_compactor_t *compactor);

/*
 * When a conversation no longer fits the model's context, a summary stands for its older messages,
 * or its oldest tool results are replaced by a short marker. These functions compute how much. The
 * caller records it in a compaction message, so that later requests begin with the same bytes and
 * hit the provider's cache. No I/O.
 */
#pragma once

#include <stddef.h>

#include "conversation/context.h"

/* Returns how many results, counted from the first, to trim in order to save at least `bytes`: at
 * least trimmed_now + 1, or trimmed_now if no result is left to trim. The results of the last step
 * are trimmed only if no others are left. */
size_t ik_compaction_plan(const ik_conversation_t *conversation, size_t trimmed_now, size_t bytes);

/* As ik_compaction_plan, but never trims the results of the last step. */
size_t ik_compaction_plan_older(const ik_conversation_t *conversation, size_t trimmed_now,
                                size_t bytes);
/* Returns the count that trims all results but those of the last step. */
size_t ik_compaction_plan_all(const ik_conversation_t *conversation, size_t trimmed_now);

/* What a summary is to cover. */
typedef struct {
    size_t index;       /* of the first message that is sent as it is */
    size_t covers;      /* messages of user and model before it */
    size_t words_limit; /* bytes of the user's words among them that are still sent */
    size_t gain;        /* bytes that are sent no longer, without the summary itself */
} ik_compaction_summary_t;

/* How much is kept besides what a request cannot do without: the calls that wait for an answer, and
 * what the user said since the last answer. */
typedef enum {
    IK_COMPACTION_LAST_STEPS, /* the last steps, up to a quarter of the context */
    IK_COMPACTION_LEAST,      /* nothing */
} ik_compaction_keep_t;

/* Plans a summary. room is the size of the model's window in bytes; 0: not known. False when there
 * is nothing to summarise. */
bool ik_compaction_plan_summary(const ik_context_t *context, size_t room, ik_compaction_keep_t keep,
                                ik_compaction_summary_t *plan);

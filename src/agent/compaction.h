/*
 * When a conversation no longer fits the model's context, its oldest tool results are replaced by a
 * short marker in requests. These functions compute how many. The caller records the number in a
 * compaction message, so that later requests begin with the same bytes and hit the provider's
 * cache. No I/O.
 */
#pragma once

#include <stddef.h>

#include "conversation/conversation.h"

/* Returns how many results, counted from the first, to trim in order to save at least `bytes`: at
 * least trimmed_now + 1, or trimmed_now if no result is left to trim. The results of the last step
 * are trimmed only if no others are left. */
size_t ik_compaction_plan(const ik_conversation_t *conversation, size_t trimmed_now, size_t bytes);

/* Returns the count that trims all results but those of the last step. */
size_t ik_compaction_plan_all(const ik_conversation_t *conversation, size_t trimmed_now);

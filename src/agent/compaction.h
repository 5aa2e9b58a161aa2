/*
 * When a conversation no longer fits the model's context, its oldest tool results are sent as a
 * short marker. This decides how many; the decision is recorded as a message of kind compaction,
 * so that every later request begins with the same bytes. Pure.
 */
#pragma once

#include <stddef.h>

#include "conversation/conversation.h"

/* How many results, from the first, must be trimmed to save at least `bytes`; never fewer than one
 * more than now. The results of the last step are spared while anything else will do. Returns the
 * current number when nothing is left to trim. */
size_t ik_compaction_plan(const ik_conversation_t *conversation, size_t trimmed_now, size_t bytes);

/* The same for somebody who asks for it: all results but those of the last step. */
size_t ik_compaction_plan_all(const ik_conversation_t *conversation, size_t trimmed_now);

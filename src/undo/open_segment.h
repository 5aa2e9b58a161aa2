/*
 * Finds calls that a crash cut off: their log has the state of the files before them and not the
 * one after them.
 */
#pragma once

#include "agent/call_gate.h"
#include "store/store.h"

/* Whether the last segment of the agent is open, and the calls of its last step, on ctx; they have
 * no entry. Reads only the end of the log. */
res_t ik_open_segment_find(const void *ctx, ik_store_t *store, const ik_store_agent_t *agent,
                           bool *open, ik_call_t **calls, size_t *count);

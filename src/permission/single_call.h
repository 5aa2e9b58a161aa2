/*
 * One tool call that belongs to no turn, of `ikigai tool run` or of a client of `ikigai mcp serve`.
 * As in a turn, hooks and the gate decide whether it runs and with which arguments, and hooks look
 * at its result; what they say joins the envelope as "hook".
 */
#pragma once

#include "agent/call_gate.h"
#include "hook/hooks.h"
#include "tool/tool_runner.h"

typedef struct ik_single_call ik_single_call_t;

/* Everything outlives the calls. */
typedef struct {
    ik_loop_t *loop;
    const ik_call_gate_t *gate; /* which asks the same hooks */
    ik_hooks_t *hooks;          /* NULL: none */
    const ik_tool_context_t *context;
    const ik_tool_registry_t *registry;
} ik_single_call_options_t;

/* The gate sets how the call is confined; the other members of request live as long as the call.
 * on_end is called once, from the loop; the result is valid until the call is freed, which may be
 * in on_end. Freeing it earlier ends everything that it started. */
ik_single_call_t *ik_single_call_start(const void *ctx, const ik_single_call_options_t *options,
                                       const ik_tool_request_t *request);
/* Stops the tool or the hooks after it; on_end follows. False: there is no tool to stop yet, and
 * the call can be freed. */
bool ik_single_call_cancel(ik_single_call_t *call);

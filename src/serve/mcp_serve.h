/*
 * `ikigai mcp serve`: offers this machine's tools to another agent over the Model Context Protocol,
 * on standard input and output. Calls pass the same gate and run in the same rooms as those of a
 * model, and the same hooks look at them. What would be asked of a user is asked of the client's
 * user (elicitation) if the client can ask, and is denied otherwise.
 *
 * Both eras of the protocol are spoken, even on one connection: a request that carries its protocol
 * version is of the modern era, which has no state; others need `initialize` first.
 */
#pragma once

#include "io/loop.h"
#include "permission/permission_gate.h"
#include "tool/tool_runner.h"

typedef struct {
    ik_loop_t *loop;
    const ik_tool_registry_t *registry; /* the tools that are offered */
    const ik_tool_context_t *context;
    const ik_permission_gate_options_t *gate; /* unattended; the hooks in it look at calls */
} ik_mcp_serve_options_t;

/* Serves until standard input ends (0), standard output cannot be written (1), or signal N asks the
 * program to stop (128 + N); calls that still run then are ended. */
int ik_mcp_serve_run(const void *ctx, const ik_mcp_serve_options_t *options);

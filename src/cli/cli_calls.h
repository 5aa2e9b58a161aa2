/* What `ikigai tool run` and `ikigai mcp serve` need to run calls without a session. */
#pragma once

#include "cli/cli.h"
#include "permission/permission_gate.h"
#include "permission/single_call.h"

typedef struct {
    const ik_tool_discovery_result_t *found;
    ik_tool_context_t context;
    ik_permission_gate_options_t gate;
    ik_mode_t mode;
    const char *session_id;
} ik_cli_calls_t;

/* Finds tools, with servers also theirs, rules and hooks as the options --mode and --trust say.
 * allowed are the values of --allow, or NULL. Returns IK_CLI_DONE, or the exit status after
 * printing why. calls lives as long as what is made of it. */
int ik_cli_calls_prepare(ik_cli_t *cli, const ik_cli_args_t *args, const char *const *allowed,
                         const char *session_id, bool servers, ik_cli_calls_t *calls);

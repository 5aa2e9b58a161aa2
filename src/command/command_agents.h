/* Agents, as the commands that take the number of one describe them. */
#pragma once

#include "command/command.h"

/* Completes the first argument with the numbers of the session's agents, without ended sub-agents.
 */
void ik_command_agents_complete(ik_command_host_t *host, int word, ik_command_words_t *out);
/* What it does now: "working", "ended" (a sub-agent), "has news" or "idle". */
const char *ik_command_agents_state(ik_command_host_t *host, int64_t number);

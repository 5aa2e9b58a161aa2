/* Completion for the commands that take the number of an agent. */
#pragma once

#include "command/command.h"

/* Completes the first argument with the numbers of the session's agents. */
void ik_command_agents_complete(ik_command_host_t *host, int word, ik_command_words_t *out);

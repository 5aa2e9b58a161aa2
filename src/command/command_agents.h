/* The agents of the session, for the commands that name one. */
#pragma once

#include "command/command.h"

/* Completes the first argument with their numbers. */
void ik_command_agents_complete(ik_command_host_t *host, int word, ik_command_words_t *out);

/* The last sessions as a table, for the commands that show them. */
#pragma once

#include "command/command.h"

/* Prints them when the history has answered: those of this folder, or of all; then hint. They are
 * what /resume completes from then on. hint is static text. */
void ik_command_session_list_start(ik_command_host_t *host, bool all, const char *hint);

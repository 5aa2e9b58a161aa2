/* A table of recent sessions, for /sessions and /resume. */
#pragma once

#include "command/command.h"

/* Asks the history for the sessions of this folder, or of all folders, and prints them and then
 * hint when it has answered. /resume completes these sessions from then on. hint is static text. */
void ik_command_session_list_start(ik_command_host_t *host, bool all, const char *hint);

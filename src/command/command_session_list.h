/* The list of sessions of /sessions, /resume and ikigai -r. */
#pragma once

#include "command/command.h"

/* Opens a list of the sessions of this folder, or of all folders, and resumes the one that the user
 * takes. Does not wait for the history. /resume completes these sessions from then on. */
void ik_command_session_list_start(ik_command_host_t *host, bool all);
/* One row per session, on ctx; its value is the id. */
ik_choice_row_t *ik_command_session_list_rows(const void *ctx, const ik_store_list_t *list);

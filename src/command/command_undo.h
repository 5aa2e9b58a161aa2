/* Starts an undo, for /undo and /rewind. */
#pragma once

#include "command/command.h"

/* Prints what was done, or why not; after the conversation was taken back, the question returns to
 * the draft. */
void ik_command_undo_start(ik_command_host_t *host, const ik_undo_request_t *request);

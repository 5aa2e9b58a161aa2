/* Formats sessions for the commands of `ikigai session`. */
#pragma once

#include "base/buffer.h"
#include "store/store.h"

/* Prints id, age, number of messages, folder and title. */
void ik_cli_session_print_line(const ik_store_session_t *session);

/* The following add members to a JSON object that begins with the buffer (ik_json_begin_member). */

/* Adds NAME_at, as text, and NAME_us. */
void ik_cli_session_add_time(ik_buffer_t *object, const char *name, int64_t us);
/* Adds all facts except "messages": some commands put the messages there, others their number. */
void ik_cli_session_add_facts(ik_buffer_t *object, const ik_store_session_t *session);

/* A session, and what is in it, as the commands of `ikigai session` show it. */
#pragma once

#include "base/buffer.h"
#include "store/store.h"

/* For a review: id, age, number of messages, folder and title. */
void ik_cli_session_print_line(const ik_store_session_t *session);

/* Members of a JSON object that is the whole buffer so far (ik_json_begin_member). */
/* As NAME_at, for people, and NAME_us. */
void ik_cli_session_add_time(ik_buffer_t *object, const char *name, int64_t us);
/* All that is known of a session but the number of its messages: some put the messages there. */
void ik_cli_session_add_facts(ik_buffer_t *object, const ik_store_session_t *session);

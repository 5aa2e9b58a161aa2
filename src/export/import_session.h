/*
 * Checks the lines of one session: agents come before their messages, parents before children,
 * without gaps; and where a store has the session already, its messages are equal.
 */
#pragma once

#include "export/import_line.h"

typedef struct ik_import_session ik_import_session_t;

/* line is of type session. store may be NULL: then nothing is compared. */
res_t ik_import_session_create(const void *ctx, const ik_import_line_t *line, ik_store_t *store,
                               ik_import_session_t **out);
/* Checks an agent or a message; number is its line. IK_ERR_CONFLICT when the store has a different
 * one. */
res_t ik_import_session_take(ik_import_session_t *session, const ik_import_line_t *line,
                             int64_t number);
/* Whether the store has this message, which was taken. */
bool ik_import_session_has(const ik_import_session_t *session, const ik_store_event_t *event);
/* Call it after the last line. On an error *number becomes the faulty line, if it is a line of the
 * session. */
res_t ik_import_session_end(const ik_import_session_t *session, int64_t *number);

int64_t ik_import_session_messages(const ik_import_session_t *session);
/* Whether the store has the session at all. */
bool ik_import_session_is_stored(const ik_import_session_t *session);
/* Whether the store has everything the file has. */
bool ik_import_session_is_known(const ik_import_session_t *session);

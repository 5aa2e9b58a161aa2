/*
 * A session as the lines of a file tell it: whether it is whole (agents before their messages,
 * parents before children, no gaps), and whether a store that has it already has the same.
 */
#pragma once

#include "export/import_line.h"

typedef struct ik_import_session ik_import_session_t;

/* Begins with a line of type session. store may be NULL: nothing is compared. */
res_t ik_import_session_create(const void *ctx, const ik_import_line_t *line, ik_store_t *store,
                               ik_import_session_t **out);
/* An agent or a message; number is the line's. IK_ERR_CONFLICT when the store has another one in
 * its place. */
res_t ik_import_session_take(ik_import_session_t *session, const ik_import_line_t *line,
                             int64_t number);
/* Nothing more comes. On an error *number is the line that is to blame, if it is one of those
 * taken. */
res_t ik_import_session_end(const ik_import_session_t *session, int64_t *number);

int64_t ik_import_session_messages(const ik_import_session_t *session);
/* The store has the session, or all of it. */
bool ik_import_session_is_stored(const ik_import_session_t *session);
bool ik_import_session_is_known(const ik_import_session_t *session);

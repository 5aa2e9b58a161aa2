/* Deleting a session from the shared history. */
#pragma once

#include "store/postgres/pq_link.h"

/* A tombstone stays: other machines have copies of the session, and what they still deliver of it
 * must not bring it back. IK_ERR_NOT_FOUND when there is none, or no longer. */
res_t ik_postgres_remove(ik_pq_link_t *link, const char *session_id);

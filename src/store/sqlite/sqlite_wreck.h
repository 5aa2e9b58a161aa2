/*
 * Reads a damaged file of the SQLite store. What cannot be read is skipped, so nothing fails once
 * the file is open. The file is not changed, and it is locked against other writers while it is
 * open.
 */
#pragma once

#include "store/store.h"

typedef struct ik_sqlite_wreck ik_sqlite_wreck_t;

/* Succeeds even when nothing can be read. IK_ERR_CONFLICT when the file must not be touched: a
 * process of this machine uses it, a newer program wrote it, or it is not a history of ikigai. */
res_t ik_sqlite_wreck_open(const void *ctx, const char *path, ik_sqlite_wreck_t **out);

/* The position of a message in the file and in its log. */
typedef struct {
    int64_t id;
    int64_t session; /* sessions.key */
    int64_t agent;
    int64_t seq;
} ik_sqlite_wreck_row_t;

/* Finds the next message by id; false at the end. */
bool ik_sqlite_wreck_next(ik_sqlite_wreck_t *wreck, ik_sqlite_wreck_row_t *row);
/* Reads the message, without session_id. False when it is damaged. Its texts are valid until the
 * next call. */
bool ik_sqlite_wreck_read(ik_sqlite_wreck_t *wreck, const ik_sqlite_wreck_row_t *row,
                          ik_store_event_t *event);

/* Reads a session, strings on ctx. False when it is damaged. */
bool ik_sqlite_wreck_session(const void *ctx, ik_sqlite_wreck_t *wreck, int64_t key,
                             ik_store_session_t *out);
/* Reads the agents of a session that can be read, by number, without session_id and last_seq. They
 * need not form a tree. */
ik_store_agents_t *ik_sqlite_wreck_agents(const void *ctx, ik_sqlite_wreck_t *wreck, int64_t key);

/* Returns how many messages the file held; -1 when that is not known. Call it after the last
 * message. */
int64_t ik_sqlite_wreck_count(ik_sqlite_wreck_t *wreck);

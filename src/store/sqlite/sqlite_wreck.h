/*
 * A damaged file of the SQLite store, read as far as it can be. What cannot be read is left out
 * without a word, so nothing here fails once the file is open. The file is not changed, and while
 * it is open nobody else changes it.
 */
#pragma once

#include "store/store.h"

typedef struct ik_sqlite_wreck ik_sqlite_wreck_t;

/* Opens whatever stands there, also when nothing of it can be read. IK_ERR_CONFLICT when it is not
 * to be touched: a process of this machine uses it, or it is of a newer program or no history. */
res_t ik_sqlite_wreck_open(const void *ctx, const char *path, ik_sqlite_wreck_t **out);

/* Where a message stands: in the file, and in which log. */
typedef struct {
    int64_t id;
    int64_t session; /* sessions.key */
    int64_t agent;
    int64_t seq;
} ik_sqlite_wreck_row_t;

/* The next one by id; false at the end. */
bool ik_sqlite_wreck_next(ik_sqlite_wreck_t *wreck, ik_sqlite_wreck_row_t *row);
/* The message itself as it was written; session_id is not filled in. False when it is not what was
 * written. Its texts are valid until the next call. */
bool ik_sqlite_wreck_read(ik_sqlite_wreck_t *wreck, const ik_sqlite_wreck_row_t *row,
                          ik_store_event_t *event);

/* What was written of a session, strings on ctx. False when that is lost. */
bool ik_sqlite_wreck_session(const void *ctx, ik_sqlite_wreck_t *wreck, int64_t key,
                             ik_store_session_t *out);
/* The agents of a session that can be read, by number, as they are written there: they may well
 * make no tree. session_id and last_seq are not filled in. */
ik_store_agents_t *ik_sqlite_wreck_agents(const void *ctx, ik_sqlite_wreck_t *wreck, int64_t key);

/* To be asked at the end: how many messages the file held; -1 when that cannot be told. */
int64_t ik_sqlite_wreck_count(ik_sqlite_wreck_t *wreck);

/*
 * The history of this machine: one SQLite file, 0600, always there, no set-up. Several programs may
 * use the file at once; a connection belongs to one thread.
 *
 * The search index is brought up to date in batches (ik_store_sqlite_index), not with each event:
 * it is derived, and an append costs what an INSERT costs.
 */
#pragma once

#include "store/store.h"

/* Makes the file and its folder when they are not there, and brings an older one up to this
 * program's schema. IK_ERR_DAMAGED when it is no database or a broken one, IK_ERR_CONFLICT when it
 * was written by a newer program. Nothing that exists is overwritten. ":memory:" is a file of its
 * own that goes with the store. */
res_t ik_store_sqlite_open(const void *ctx, const char *path, ik_store_t **out);

/* Indexes what is not yet, at most about so many events (0: all). *left says whether there is more;
 * it may be NULL. */
res_t ik_store_sqlite_index(ik_store_t *store, size_t most, bool *left);

/* The events server does not have yet, in the order in which they were written, with the sessions
 * and agents they belong to; about a megabyte of them. *last is what to mark when they are there.
 */
res_t ik_store_sqlite_undelivered(const void *ctx, ik_store_t *store, const char *server,
                                  ik_store_batch_t *out, int64_t *last);
res_t ik_store_sqlite_mark_delivered(ik_store_t *store, const char *server, int64_t last);
/* A session that was continued elsewhere, too: from now on the one here is called new_id, and is
 * delivered from its beginning. IK_ERR_NOT_FOUND when there is none of that id. */
res_t ik_store_sqlite_rename(ik_store_t *store, const char *session_id, const char *new_id);

/* Gives back to the file system what deleted sessions took. */
res_t ik_store_sqlite_shrink(ik_store_t *store);
/* Reads all of the file: IK_ERR_DAMAGED with the first thing that is wrong. */
res_t ik_store_sqlite_check(ik_store_t *store);

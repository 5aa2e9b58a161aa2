/*
 * The local history: one SQLite file with mode 0600, which needs no set-up. Several programs may
 * use the file at once; a connection belongs to one thread.
 *
 * The search index is updated in batches (ik_store_sqlite_index), not with each event, so that an
 * append costs no more than an INSERT.
 */
#pragma once

#include "store/store.h"

/* Creates the file and its folder if they do not exist, and migrates an older file to the current
 * schema. IK_ERR_DAMAGED when the file is damaged or no database, IK_ERR_CONFLICT when it was
 * written by a newer program. Existing data is never overwritten. ":memory:" is a temporary
 * database of this store. */
res_t ik_store_sqlite_open(const void *ctx, const char *path, ik_store_t **out);

/* Adds events to the search index, at most about most (0: all). *left says whether there are more;
 * left may be NULL. */
res_t ik_store_sqlite_index(ik_store_t *store, size_t most, bool *left);

/* --- delivery to a server. A server gets the sessions that are shared with it, or all sessions if
 * the user decided so. server is any text that identifies it. */

/* How far the log was examined for a server. */
typedef struct {
    int64_t last;    /* messages.id; 0: everything is delivered */
    int64_t changes; /* deliveries.changes at that time */
} ik_store_delivered_t;

/* The next events to deliver, about a megabyte, in the order in which they were written, with their
 * sessions and agents. Pass *mark to ik_store_sqlite_mark_delivered when they are delivered, also
 * when there are no events because this part of the log is not shared. */
res_t ik_store_sqlite_undelivered(const void *ctx, ik_store_t *store, const char *server,
                                  ik_store_batch_t *out, ik_store_delivered_t *mark);
/* Does nothing when the shared sessions have changed since: then that part is examined again. */
res_t ik_store_sqlite_mark_delivered(ik_store_t *store, const char *server,
                                     const ik_store_delivered_t *mark);
/* Delivers everything again, because the server may have lost something. */
res_t ik_store_sqlite_redeliver(ik_store_t *store, const char *server);

/* What the user decided about sessions that were begun without the server. */
typedef enum {
    IK_STORE_SHARE_UNDECIDED, /* nothing: they stay here */
    IK_STORE_SHARE_NOTIFIED,  /* nothing yet, but a notice said that they stay here */
    IK_STORE_SHARE_NEW,       /* they stay here */
    IK_STORE_SHARE_ALL,       /* they are delivered, too */
} ik_store_consent_t;

/* Shares a session, which need not exist yet, with a server. An older session is delivered from its
 * beginning after the next ik_store_sqlite_adopt. */
res_t ik_store_sqlite_share(ik_store_t *store, const char *server, const char *session_id);
/* Shares with a server what was shared with its address. *first says whether the server was
 * unknown.
 */
res_t ik_store_sqlite_adopt(ik_store_t *store, const char *address, const char *server,
                            bool *first);
/* *withheld is the number of sessions that stay here. */
res_t ik_store_sqlite_read_consent(ik_store_t *store, const char *server,
                                   ik_store_consent_t *consent, int64_t *withheld);
res_t ik_store_sqlite_set_consent(ik_store_t *store, const char *server,
                                  ik_store_consent_t consent);
res_t ik_store_sqlite_is_withheld(ik_store_t *store, const char *server, const char *session_id,
                                  bool *withheld);
/* The sessions that stay here, listed as by ik_store_list. */
res_t ik_store_sqlite_list_withheld(const void *ctx, ik_store_t *store, const char *server,
                                    const ik_store_filter_t *filter, ik_store_list_t **out);
/* Gives a session a new id, because it was continued elsewhere, too. It is delivered from its
 * beginning. IK_ERR_NOT_FOUND when there is no such session. */
res_t ik_store_sqlite_rename(ik_store_t *store, const char *session_id, const char *new_id);

/* Returns the space of deleted sessions to the file system. */
res_t ik_store_sqlite_shrink(ik_store_t *store);
/* Checks the whole file. IK_ERR_DAMAGED names the first fault. */
res_t ik_store_sqlite_check(ik_store_t *store);

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

/* --- delivery to a server. A server gets the sessions that are shared with it, or all of them when
 * the user said so. Its name is any text, the same each time. */

/* How far the log was looked through for a server. */
typedef struct {
    int64_t last;    /* messages.id; 0: there is nothing more */
    int64_t changes; /* of what is shared, when it was looked through */
} ik_store_delivered_t;

/* The events server is to have and does not have yet, in the order in which they were written, with
 * the sessions and agents they belong to; about a megabyte of them. *mark is what to mark when they
 * are there. There may be no events in a part of the log that has a mark. */
res_t ik_store_sqlite_undelivered(const void *ctx, ik_store_t *store, const char *server,
                                  ik_store_batch_t *out, ik_store_delivered_t *mark);
/* Nothing when it was changed meanwhile what is shared: the part is looked through again. */
res_t ik_store_sqlite_mark_delivered(ik_store_t *store, const char *server,
                                     const ik_store_delivered_t *mark);
/* The server may have lost something: everything it may have is delivered again. */
res_t ik_store_sqlite_redeliver(ik_store_t *store, const char *server);

/* What the user said about sessions that were begun without the server. */
typedef enum {
    IK_STORE_SHARE_UNDECIDED, /* nothing: they stay here */
    IK_STORE_SHARE_NOTIFIED,  /* nothing yet, but a notice said that they stay here */
    IK_STORE_SHARE_NEW,       /* they stay here */
    IK_STORE_SHARE_ALL,       /* they are delivered, too */
} ik_store_consent_t;

/* The session is delivered to the server, from its beginning when ik_store_sqlite_adopt comes to
 * it. It need not exist yet. */
res_t ik_store_sqlite_share(ik_store_t *store, const char *server, const char *session_id);
/* What was shared with an address is shared with the server that answers there. *first: nothing
 * was known of that server. */
res_t ik_store_sqlite_adopt(ik_store_t *store, const char *address, const char *server,
                            bool *first);
/* Also how many sessions stay here. */
res_t ik_store_sqlite_read_consent(ik_store_t *store, const char *server,
                                   ik_store_consent_t *consent, int64_t *withheld);
res_t ik_store_sqlite_set_consent(ik_store_t *store, const char *server,
                                  ik_store_consent_t consent);
res_t ik_store_sqlite_is_withheld(ik_store_t *store, const char *server, const char *session_id,
                                  bool *withheld);
/* The sessions that stay here, as ik_store_list. */
res_t ik_store_sqlite_list_withheld(const void *ctx, ik_store_t *store, const char *server,
                                    const ik_store_filter_t *filter, ik_store_list_t **out);
/* A session that was continued elsewhere, too: from now on the one here is called new_id, and is
 * delivered from its beginning. IK_ERR_NOT_FOUND when there is none of that id. */
res_t ik_store_sqlite_rename(ik_store_t *store, const char *session_id, const char *new_id);

/* Gives back to the file system what deleted sessions took. */
res_t ik_store_sqlite_shrink(ik_store_t *store);
/* Reads all of the file: IK_ERR_DAMAGED with the first thing that is wrong. */
res_t ik_store_sqlite_check(ik_store_t *store);

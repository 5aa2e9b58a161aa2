/*
 * The session history of a user: the local file (store_sqlite.h) and, when db is a postgresql://
 * URL, a shared history on a server, to which a worker thread delivers every event in order. The
 * loop never waits for the server. Functions that ask the server wait for a few seconds at most and
 * then use the local file; those that fetch a session which the server has found wait for up to a
 * minute.
 */
#pragma once

#include "io/loop.h"
#include "store/store.h"

typedef struct ik_history ik_history_t;

/* One line for the user: the server is out of reach or back, or a session was continued elsewhere.
 */
typedef void (*ik_history_notice_fn)(void *data, const char *line);

/* count sessions were begun without the shared history, and the user was never asked whether to
 * deliver them: answer with ik_history_decide. Until then they stay here. */
typedef void (*ik_history_withheld_fn)(void *data, int64_t count);

typedef struct {
    const char *db;    /* a file or a postgresql:// URL */
    const char *file;  /* the local file when db is a URL */
    ik_store_t *local; /* a local store that is already open; NULL: open the file */
    ik_loop_t *loop;
    ik_history_notice_fn on_notice;     /* from the loop */
    ik_history_withheld_fn on_withheld; /* from the loop; NULL: a notice says that they stay */
    bool deliver_all;                   /* deliver all sessions, also in later programs */
    void *data;
} ik_history_options_t;

/* A session was continued here and elsewhere; the one of this machine has a new id now. */
typedef void (*ik_history_renamed_fn)(void *data, const char *from, const char *to);

/* IK_ERR_NOT_FOUND when db is a file in a folder that does not exist. The folder of the default
 * file is created when it is needed. */
res_t ik_history_check_db(const char *db, const char *file);
/* IK_ERR_NOT_FOUND when db is a file that does not exist: SQLite would create one that is misspelt.
 * The default file may be missing until the first session. */
res_t ik_history_check_file(const char *db, const char *file);
/* The local file: db, unless that is a URL. Nothing is opened. */
const char *ik_history_local_file(const char *db, const char *file);
/* Lists the sessions of the local file without asking a server. A missing file has no sessions and
 * is not created. */
res_t ik_history_list_local(const void *ctx, const char *file, const ik_store_filter_t *filter,
                            ik_store_list_t **out);
/* Opens nothing yet: a function that needs the file opens it, and returns an error if it cannot.
 * Strings are copied. Freeing does not wait for delivery; the next program continues it. */
ik_history_t *ik_history_create(const void *ctx, const ik_history_options_t *options);
/* Sets the callback for renamed sessions, called from the loop. There is only one. */
void ik_history_watch_renames(ik_history_t *history, ik_history_renamed_fn on_rename, void *data);
void ik_history_unwatch_renames(ik_history_t *history, const void *data);

/* The local store, opened if necessary. It belongs to the history. */
res_t ik_history_local(ik_history_t *history, ik_store_t **out);
bool ik_history_is_shared(const ik_history_t *history);
/* Where the shared history is, without a password; NULL: nothing is shared. */
const char *ik_history_address(const ik_history_t *history);

/* --- what is delivered: sessions that were opened while the history was shared. Others stay here
 * until they are opened or shared, or the user decides to deliver all. */

res_t ik_history_share(ik_history_t *history, const char *session_id);
void ik_history_decide(ik_history_t *history, bool all);
/* The sessions that stay here; IK_ERR_GONE when the server does not answer. */
res_t ik_history_list_withheld(const void *ctx, ik_history_t *history, ik_store_list_t **out);

/* As in store.h: from the shared history if it answers, otherwise from the local file. */
res_t ik_history_list(const void *ctx, ik_history_t *history, const ik_store_filter_t *filter,
                      ik_store_list_t **out);
res_t ik_history_find(const void *ctx, ik_history_t *history, const char *prefix,
                      ik_store_session_t *out);
res_t ik_history_search(const void *ctx, ik_history_t *history, const ik_store_search_t *search,
                        ik_store_hits_t **out);

/* Copies what the shared history has of a session into the local file, so that it can be read
 * there. IK_ERR_NOT_FOUND when neither has it. */
res_t ik_history_fetch(ik_history_t *history, const char *session_id);
/* Fetches a session and makes this process its only writer on all machines. On IK_ERR_CONFLICT
 * *other is the current writer. */
res_t ik_history_claim(ik_history_t *history, const char *session_id, ik_holder_t *other);
/* Claims a new session; does not wait for the server. */
res_t ik_history_begin(ik_history_t *history, const char *session_id);
void ik_history_release(ik_history_t *history, const char *session_id);

/* --- asking without waiting. The callback is called exactly once, later, from the loop. The answer
 * belongs to the question, which is freed when the callback returns; freeing the question earlier
 * cancels the callback. */

typedef struct ik_history_question ik_history_question_t;

typedef void (*ik_history_list_fn)(void *data, const res_t *result, const ik_store_list_t *list);
ik_history_question_t *ik_history_list_start(const void *ctx, ik_history_t *history,
                                             const ik_store_filter_t *filter,
                                             ik_history_list_fn on_answer, void *data);
typedef void (*ik_history_find_fn)(void *data, const res_t *result,
                                   const ik_store_session_t *session);
ik_history_question_t *ik_history_find_start(const void *ctx, ik_history_t *history,
                                             const char *prefix, ik_history_find_fn on_answer,
                                             void *data);
typedef void (*ik_history_search_fn)(void *data, const res_t *result, const ik_store_hits_t *hits);
ik_history_question_t *ik_history_search_start(const void *ctx, ik_history_t *history,
                                               const ik_store_search_t *search,
                                               ik_history_search_fn on_answer, void *data);
/* Fetches and claims the session, so that ik_session_open does not wait for the server. A caller
 * that does not open it must release it. A question that is freed early leaves no claim behind. */
typedef void (*ik_history_claim_fn)(void *data, const res_t *result, const ik_holder_t *other);
ik_history_question_t *ik_history_claim_start(const void *ctx, ik_history_t *history,
                                              const char *session_id, ik_history_claim_fn on_answer,
                                              void *data);

/* Deletes a session from both histories. IK_ERR_CONFLICT when it is in use; IK_ERR_GONE, and
 * nothing is deleted, when the shared history does not answer. */
res_t ik_history_remove(ik_history_t *history, const char *session_id);

/* To be called after a write to the local store. */
void ik_history_wrote(ik_history_t *history);
/* Updates the search index; to be called when there is nothing else to do. */
void ik_history_tidy(ik_history_t *history);
/* Brings the search index of the local file up to date. */
res_t ik_history_index(ik_history_t *history);
/* Returns the space of deleted sessions in the local file to the file system. */
res_t ik_history_shrink(ik_history_t *history);
/* Waits at most patience_ms for delivery at the end of a program. IK_ERR_GONE when not everything
 * was delivered, and at once when the server cannot be reached. */
res_t ik_history_finish(ik_history_t *history, int patience_ms);
enum { IK_HISTORY_FINISH_MS = 5000 }; /* the patience of a program without a terminal */

/*
 * The history of a user: the local file (store_sqlite.h), and, when db is a postgresql:// URL, a
 * shared one to which every event is delivered in order by a worker thread. The loop never waits
 * for the server; what asks it waits a moment at most and then makes do with the local file.
 */
#pragma once

#include "io/loop.h"
#include "store/store.h"

typedef struct ik_history ik_history_t;

/* One line for the user: the server went, or returned, or a session went two ways. */
typedef void (*ik_history_notice_fn)(void *data, const char *line);

/* So many sessions were begun without the shared history, and the user was never asked whether they
 * are to be delivered: ik_history_decide. Until then they stay here. */
typedef void (*ik_history_withheld_fn)(void *data, int64_t count);

typedef struct {
    const char *db;    /* a file or a postgresql:// URL */
    const char *file;  /* the local file when db is a URL */
    ik_store_t *local; /* a local store that is open already; NULL: the file is opened */
    ik_loop_t *loop;
    ik_history_notice_fn on_notice;     /* from the loop */
    ik_history_withheld_fn on_withheld; /* the same; NULL: a notice says once that they stay here */
    bool deliver_all;                   /* the user wants all sessions delivered, from now on */
    void *data;
} ik_history_options_t;

/* A session of this machine was continued elsewhere as well and has a new id now. */
typedef void (*ik_history_renamed_fn)(void *data, const char *from, const char *to);

/* Whether a file can be there: IK_ERR_NOT_FOUND when db names one in a folder that does not exist.
 * The folder of the default file is made when it is needed. */
res_t ik_history_check_db(const char *db, const char *file);
/* The local file: db, unless that is a URL. Nothing is opened. */
const char *ik_history_local_file(const char *db, const char *file);
/* Opens nothing yet: whatever needs the file says when it cannot be opened, and the next one tries
 * again. Strings are copied. Freeing it does not wait for delivery; the next program goes on with
 * it. */
ik_history_t *ik_history_create(const void *ctx, const ik_history_options_t *options);
/* For the one who has a session open, the last who asked; from the loop. */
void ik_history_watch_renames(ik_history_t *history, ik_history_renamed_fn on_rename, void *data);
void ik_history_unwatch_renames(ik_history_t *history, const void *data);

/* The local store, opened when it is not yet. It belongs to the history. */
res_t ik_history_local(ik_history_t *history, ik_store_t **out);
bool ik_history_is_shared(const ik_history_t *history);
/* Where the shared history is, without a password; NULL: nothing is shared. */
const char *ik_history_address(const ik_history_t *history);

/* --- what a shared history gets. A session that is open here is delivered. One that was begun
 * without the shared history stays here until it is opened, shared, or the user wants all. */

res_t ik_history_share(ik_history_t *history, const char *session_id);
void ik_history_decide(ik_history_t *history, bool all);
/* The sessions that stay here; IK_ERR_GONE when the server does not answer. */
res_t ik_history_list_withheld(const void *ctx, ik_history_t *history, ik_store_list_t **out);

/* As in store.h: what the shared history knows when it answers, otherwise the local one. */
res_t ik_history_list(const void *ctx, ik_history_t *history, const ik_store_filter_t *filter,
                      ik_store_list_t **out);
res_t ik_history_find(const void *ctx, ik_history_t *history, const char *prefix,
                      ik_store_session_t *out);
res_t ik_history_search(const void *ctx, ik_history_t *history, const ik_store_search_t *search,
                        ik_store_hits_t **out);

/* Brings a session that the shared history has, or has more of, into the local file, so that it can
 * be read there. IK_ERR_NOT_FOUND when neither has it. */
res_t ik_history_fetch(ik_history_t *history, const char *session_id);
/* The same with the right to write it, here and for all machines. */
res_t ik_history_claim(ik_history_t *history, const char *session_id, ik_holder_t *other);
/* The same for a new one, which is nowhere yet; does not wait for the server. */
res_t ik_history_begin(ik_history_t *history, const char *session_id);
void ik_history_release(ik_history_t *history, const char *session_id);

/* --- the same without waiting, for whoever has a screen to draw. The answer comes from the loop,
 * later, exactly once, and belongs to the question, which is freed when the callback returns;
 * freeing it earlier means that there is none. */

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
/* Brings the session here and claims it: afterwards ik_session_open does not wait for the server
 * any more. Whoever does not open it then releases it. A question that is freed early leaves no
 * claim behind. */
typedef void (*ik_history_claim_fn)(void *data, const res_t *result, const ik_holder_t *other);
ik_history_question_t *ik_history_claim_start(const void *ctx, ik_history_t *history,
                                              const char *session_id, ik_history_claim_fn on_answer,
                                              void *data);

/* From both; a session in use is IK_ERR_CONFLICT. A shared history that does not answer is an
 * error, and nothing is deleted. */
res_t ik_history_remove(ik_history_t *history, const char *session_id);

/* Something was written to the local store. */
void ik_history_wrote(ik_history_t *history);
/* A good moment for what can wait: the search index. */
void ik_history_tidy(ik_history_t *history);
/* At the end of a program: waits for delivery, so long at most and not at all while the server does
 * not answer: IK_ERR_GONE. */
res_t ik_history_finish(ik_history_t *history, int patience_ms);
/* The patience of a program that nobody sits before. */
enum { IK_HISTORY_FINISH_MS = 5000 };

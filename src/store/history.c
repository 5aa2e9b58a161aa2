/*
 * A question can be asked with waiting (run) or without (start). The worker that talks to the
 * shared history gets a copy of it. If it answers in time, the copy, with all that was found,
 * replaces the question. Then the question is settled in the loop's thread; when nothing is shared
 * or there was no answer, it is settled from the local file alone.
 */
#include "store/history.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/config.h"
#include "base/file.h"
#include "store/delivery.h"
#include "store/postgres/pq_url.h"
#include "store/postgres/store_postgres.h"
#include "store/sqlite/store_sqlite.h"

enum { TIDY_EVENTS = 2000 }; /* indexed by one ik_history_tidy */
enum { PATIENCE_MS = 3000 }; /* how long a question to the shared history may take */
/* How long a session may take to arrive. A connection on which nothing arrives is given up earlier.
 */
enum { ARRIVAL_MS = 60000 };

struct ik_history {
    char *file;
    char *address; /* db without its password; NULL: nothing is shared */
    ik_loop_t *loop;
    ik_store_t *local;       /* NULL: not open yet */
    ik_delivery_t *delivery; /* NULL: nothing is shared */
    bool heard;              /* the server answered the last question */
    ik_holder_t self;
    char claimed[IK_STORE_ID_LEN + 1]; /* the session that was claimed last; "": none */
    ik_history_question_t *questions;  /* that have no answer yet */
    ik_history_notice_fn on_notice;
    void *data;
    ik_history_withheld_fn on_withheld; /* NULL: the user cannot be asked */
    ik_history_renamed_fn on_renamed;
    void *renamed_data;
};

static void drop_questions(ik_history_t *history);

/* --- the history itself ------------------------------------------------------------------ */

static void on_notice(void *data, const char *line)
{
    ik_history_t *history = data;
    if (history->on_notice != NULL) {
        history->on_notice(history->data, line);
    }
}

static void on_renamed(void *data, const char *from, const char *to)
{
    ik_history_t *history = data;
    if (strcmp(history->claimed, from) == 0) {
        snprintf(history->claimed, sizeof(history->claimed), "%s", to);
    }
    if (history->on_renamed != NULL) {
        history->on_renamed(history->renamed_data, from, to);
    }
}

static void on_withheld(void *data, int64_t count)
{
    ik_history_t *history = data;
    history->on_withheld(history->data, count);
}

res_t ik_history_check_db(const char *db, const char *file)
{
    if (ik_pq_url_is_one(db) || strcmp(db, file) == 0) {
        return OK;
    }
    struct stat status;
    char *folder = ik_file_folder(NULL, db);
    bool there = stat(folder, &status) == 0 || errno != ENOENT;
    res_t checked = there ? OK
                          : ERR(NOT_FOUND,
                                "The folder of the database %s does not exist: create %s, or "
                                "choose another file with --db",
                                db, folder);
    talloc_free(folder);
    return checked;
}

res_t ik_history_check_file(const char *db, const char *file)
{
    struct stat status;
    bool there =
        ik_pq_url_is_one(db) || strcmp(db, file) == 0 || stat(db, &status) == 0 || errno != ENOENT;
    return there ? OK : ERR(NOT_FOUND, "No such database: %s; check --db", db);
}

const char *ik_history_local_file(const char *db, const char *file)
{
    return ik_pq_url_is_one(db) ? file : db;
}

res_t ik_history_list_local(const void *ctx, const char *file, const ik_store_filter_t *filter,
                            ik_store_list_t **out)
{
    struct stat status;
    ik_store_t *store;
    if (stat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) {
        *out = ik_new(ctx, ik_store_list_t); /* SQLite would create a database there */
        return OK;
    }
    TRY(ik_store_sqlite_open(ctx, file, &store));
    res_t listed = ik_store_list(ctx, store, filter, out);
    talloc_free(store);
    return listed;
}

static int close_history(ik_history_t *history)
{
    drop_questions(history);
    return 0;
}

ik_history_t *ik_history_create(const void *ctx, const ik_history_options_t *options)
{
    ik_history_t *history = ik_new(ctx, ik_history_t);
    history->file = ik_strdup(history, ik_history_local_file(options->db, options->file));
    history->loop = options->loop;
    history->local = options->local;
    history->self = ik_holder_self();
    history->on_notice = options->on_notice;
    history->data = options->data;
    history->on_withheld = options->on_withheld;
    if (ik_pq_url_is_one(options->db)) {
        history->address = ik_config_hide_password(history, options->db);
        ik_delivery_options_t delivery = {.url = options->db,
                                          .address = history->address,
                                          .file = history->file,
                                          .loop = options->loop,
                                          .on_notice = on_notice,
                                          .on_renamed = on_renamed,
                                          .on_withheld =
                                              options->on_withheld == NULL ? NULL : on_withheld,
                                          .data = history};
        history->delivery = ik_delivery_create(history, &delivery);
        if (options->deliver_all) {
            ik_delivery_decide(history->delivery, true);
        }
    }
    talloc_set_destructor(history, close_history);
    return history;
}

void ik_history_watch_renames(ik_history_t *history, ik_history_renamed_fn on_rename, void *data)
{
    history->on_renamed = on_rename;
    history->renamed_data = data;
}

void ik_history_unwatch_renames(ik_history_t *history, const void *data)
{
    if (history->renamed_data == data) {
        history->on_renamed = NULL;
        history->renamed_data = NULL;
    }
}

res_t ik_history_local(ik_history_t *history, ik_store_t **out)
{
    if (history->local == NULL) {
        TRY(ik_store_sqlite_open(history, history->file, &history->local));
    }
    *out = history->local;
    return OK;
}

bool ik_history_is_shared(const ik_history_t *history)
{
    return history->delivery != NULL;
}

const char *ik_history_address(const ik_history_t *history)
{
    return history->address;
}

res_t ik_history_share(ik_history_t *history, const char *session_id)
{
    ik_store_t *local;
    if (history->delivery == NULL) {
        return OK;
    }
    TRY(ik_history_local(history, &local));
    return ik_store_sqlite_share(local, history->address, session_id);
}

void ik_history_decide(ik_history_t *history, bool all)
{
    if (history->delivery != NULL) {
        ik_delivery_decide(history->delivery, all);
    }
}

/* --- questions --------------------------------------------------------------------------- */

typedef struct question question_t;

typedef struct {
    ik_delivery_fn ask; /* runs in the worker */
    /* Runs in the loop's thread. answered is IK_ERR_GONE when there is no answer of the server. */
    res_t (*settle)(ik_history_t *history, question_t *question, const res_t *answered);
    /* Calls the callback of a started question. */
    void (*report)(const ik_history_question_t *started, const res_t *result);
    /* Undoes what the worker may have done for a cancelled question; NULL: nothing to undo. */
    void (*withdraw)(ik_history_t *history, const question_t *question);
    /* For questions that only read. read: gets the answer from the shared or the local store. join:
     * adds the sessions that stay on this machine to the answer of the server. */
    res_t (*read)(question_t *question, ik_store_t *store);
    res_t (*join)(question_t *question, ik_store_t *local, const char *server, res_t read);
    bool fetches; /* the session is copied to the local file */
} kind_t;

/* A question of any kind with its parameters and its answer. It has no talloc parent, because the
 * worker owns it for a while. */
struct question {
    const kind_t *kind;
    ik_store_filter_t filter;
    ik_store_search_t search;
    const char *text; /* a prefix, or the id of a session */
    ik_holder_t self;
    /* the answer */
    ik_holder_t other;
    ik_store_list_t *list;
    ik_store_hits_t *hits;
    ik_store_session_t session;
};

typedef union {
    ik_history_list_fn list;
    ik_history_find_fn find;
    ik_history_search_fn search;
    ik_history_claim_fn claim;
} listener_t;

struct ik_history_question {
    ik_history_t *history; /* NULL: it was freed */
    ik_history_question_t *next;
    question_t *question;
    ik_timer_t *later;              /* when nothing is shared */
    ik_delivery_inquiry_t *inquiry; /* otherwise */
    listener_t on_answer;
    void *data;
};

static const char *copy_or_null(const void *ctx, const char *text)
{
    return text == NULL ? NULL : ik_strdup(ctx, text);
}

static question_t *copy_question(const question_t *asked)
{
    question_t *question = ik_new(NULL, question_t);
    *question = *asked;
    question->filter.cwd = copy_or_null(question, asked->filter.cwd);
    question->search.text = copy_or_null(question, asked->search.text);
    question->search.session_id = copy_or_null(question, asked->search.session_id);
    question->text = copy_or_null(question, asked->text);
    return question;
}

static bool is_unanswered(const res_t *answered)
{
    return answered->code == IK_ERR_GONE;
}

/* A session was found before it is fetched. If the server answered then, a copy that takes longer
 * is large, and the local file has an older state of it or none. */
static int patience_of(const ik_history_t *history, const question_t *question)
{
    return question->kind->fetches && history->heard ? ARRIVAL_MS : PATIENCE_MS;
}

static bool is_claimed(const ik_history_t *history, const char *session_id)
{
    return strcmp(history->claimed, session_id) == 0;
}

/* --- asking ------------------------------------------------------------------------------ */

/* asked is the copy that came back from the worker, or NULL. */
static res_t settle(ik_history_t *history, question_t **question, question_t *asked,
                    const res_t *answered)
{
    history->heard = !is_unanswered(answered);
    if (is_unanswered(answered)) {
        talloc_free(asked);
    } else {
        assert(asked != NULL);
        talloc_free(*question);
        *question = asked;
    }
    return (*question)->kind->settle(history, *question, answered);
}

static res_t run(ik_history_t *history, question_t **question)
{
    res_t answered = ERR(GONE, "nothing is shared");
    void *asked = NULL;
    if (history->delivery != NULL) {
        asked = copy_question(*question);
        answered = ik_delivery_ask(history->delivery, (*question)->kind->ask, &asked,
                                   patience_of(history, *question));
    }
    return settle(history, question, asked, &answered);
}

/* The caller's context owns the answer. */
static res_t run_and_take(const void *ctx, ik_history_t *history, const question_t *asked,
                          question_t **out)
{
    question_t *question = copy_question(asked);
    res_t result = run(history, &question);
    *out = talloc_steal(ctx, question);
    return result;
}

/* --- asking without waiting -------------------------------------------------------------- */

static void unlink_started(const ik_history_question_t *started)
{
    ik_history_question_t **link = &started->history->questions;
    while (*link != started) {
        link = &(*link)->next;
    }
    *link = started->next;
}

static int abandon(ik_history_question_t *started)
{
    if (started->history != NULL) {
        unlink_started(started);
        TALLOC_FREE(started->inquiry);
        if (started->question->kind->withdraw != NULL) {
            started->question->kind->withdraw(started->history, started->question);
        }
    }
    talloc_free(started->question);
    return 0;
}

static void drop_questions(ik_history_t *history)
{
    while (history->questions != NULL) {
        ik_history_question_t *started = history->questions;
        history->questions = started->next;
        started->history = NULL;
        TALLOC_FREE(started->later);
        TALLOC_FREE(started->inquiry);
    }
}

static void on_answer(void *data, const res_t *answered, void *asked)
{
    ik_history_question_t *started = data;
    unlink_started(started);
    /* The callback may free the owner of the question. */
    talloc_set_destructor(started, (int (*)(ik_history_question_t *))NULL);
    ik_alloc_take(started);
    res_t result = settle(started->history, &started->question, asked, answered);
    started->question->kind->report(started, &result);
    talloc_free(started->question);
    talloc_free(started);
}

static void on_later(void *data)
{
    res_t unasked = ERR(GONE, "nothing is shared");
    on_answer(data, &unasked, NULL);
}

static ik_history_question_t *start(const void *ctx, ik_history_t *history, const question_t *asked,
                                    listener_t listener, void *data)
{
    ik_history_question_t *started = ik_new(ctx, ik_history_question_t);
    started->history = history;
    started->next = history->questions;
    history->questions = started;
    started->question = copy_question(asked);
    started->on_answer = listener;
    started->data = data;
    if (history->delivery == NULL) {
        started->later = ik_timer_create(started, history->loop, on_later, started);
        ik_timer_start(started->later, 0);
    } else {
        started->inquiry = ik_delivery_ask_start(started, history->delivery, asked->kind->ask,
                                                 copy_question(asked), patience_of(history, asked),
                                                 on_answer, started);
    }
    talloc_set_destructor(started, abandon);
    return started;
}

/* --- reading ----------------------------------------------------------------------------- */

/* Sessions that stay on this machine are part of the history, too. */
static res_t ask_reading(void *data, ik_store_t *local, ik_store_t *shared)
{
    question_t *question = data;
    const char *server = ik_store_postgres_identity(shared);
    ik_store_consent_t consent;
    int64_t withheld;
    res_t read = question->kind->read(question, shared);
    TRY(ik_store_sqlite_read_consent(local, server, &consent, &withheld));
    bool whole = withheld == 0 || is_unanswered(&read);
    return whole ? read : question->kind->join(question, local, server, read);
}

static res_t settle_reading(ik_history_t *history, question_t *question, const res_t *answered)
{
    ik_store_t *local;
    if (!is_unanswered(answered)) {
        return *answered;
    }
    TRY(ik_history_local(history, &local));
    return question->kind->read(question, local);
}

static res_t read_list(question_t *question, ik_store_t *store)
{
    return ik_store_list(question, store, &question->filter, &question->list);
}

/* Both are sorted already. */
static res_t join_list(question_t *question, ik_store_t *local, const char *server, res_t read)
{
    ik_store_list_t *here;
    TRY(read);
    TRY(ik_store_sqlite_list_withheld(question, local, server, &question->filter, &here));
    const ik_store_list_t *there = question->list;
    ik_store_list_t *joined = ik_new(question, ik_store_list_t);
    size_t count = there->count + here->count;
    size_t limit = question->filter.limit;
    joined->count = limit > 0 && limit < count ? limit : count;
    joined->sessions = ik_new_array(joined, ik_store_session_t, joined->count + 1);
    for (size_t i = 0, t = 0, h = 0; i < joined->count; i++) {
        bool mine = t == there->count || (h < here->count && here->sessions[h].updated_us >
                                                                 there->sessions[t].updated_us);
        joined->sessions[i] = mine ? here->sessions[h++] : there->sessions[t++];
    }
    question->list = joined;
    return OK;
}

static void report_list(const ik_history_question_t *started, const res_t *result)
{
    started->on_answer.list(started->data, result, is_ok(result) ? started->question->list : NULL);
}

static const kind_t list_kind = {.ask = ask_reading,
                                 .settle = settle_reading,
                                 .report = report_list,
                                 .read = read_list,
                                 .join = join_list};

res_t ik_history_list(const void *ctx, ik_history_t *history, const ik_store_filter_t *filter,
                      ik_store_list_t **out)
{
    question_t asked = {.kind = &list_kind, .filter = *filter};
    question_t *answer;
    res_t result = run_and_take(ctx, history, &asked, &answer);
    *out = answer->list;
    return result;
}

ik_history_question_t *ik_history_list_start(const void *ctx, ik_history_t *history,
                                             const ik_store_filter_t *filter,
                                             ik_history_list_fn on_list, void *data)
{
    question_t asked = {.kind = &list_kind, .filter = *filter};
    return start(ctx, history, &asked, (listener_t){.list = on_list}, data);
}

static res_t read_find(question_t *question, ik_store_t *store)
{
    return ik_store_find(question, store, question->text, &question->session);
}

/* A prefix that matches one session here and another on the server is ambiguous. */
static res_t join_find(question_t *question, ik_store_t *local, const char *server, res_t read)
{
    ik_store_session_t here;
    bool withheld;
    res_t found = ik_store_find(question, local, question->text, &here);
    if (is_err(&found)) {
        return found.code == IK_ERR_NOT_FOUND || is_ok(&read) ? read : found;
    }
    TRY(ik_store_sqlite_is_withheld(local, server, here.id, &withheld));
    if (!withheld) {
        return read;
    }
    if (is_ok(&read) && strcmp(here.id, question->session.id) != 0) {
        return ERR(CONFLICT, "Several sessions begin with '%s': %s, %s", question->text,
                   question->session.id, here.id);
    }
    question->session = here;
    return OK;
}

static void report_find(const ik_history_question_t *started, const res_t *result)
{
    started->on_answer.find(started->data, result,
                            is_ok(result) ? &started->question->session : NULL);
}

static const kind_t find_kind = {.ask = ask_reading,
                                 .settle = settle_reading,
                                 .report = report_find,
                                 .read = read_find,
                                 .join = join_find};

res_t ik_history_find(const void *ctx, ik_history_t *history, const char *prefix,
                      ik_store_session_t *out)
{
    question_t asked = {.kind = &find_kind, .text = prefix};
    question_t *answer;
    res_t result = run_and_take(ctx, history, &asked, &answer);
    *out = answer->session;
    return result;
}

ik_history_question_t *ik_history_find_start(const void *ctx, ik_history_t *history,
                                             const char *prefix, ik_history_find_fn on_find,
                                             void *data)
{
    question_t asked = {.kind = &find_kind, .text = prefix};
    return start(ctx, history, &asked, (listener_t){.find = on_find}, data);
}

static res_t read_search(question_t *question, ik_store_t *store)
{
    return ik_store_search(question, store, &question->search, &question->hits);
}

/* Hits in sessions that stay here follow those on the server. */
static res_t join_search(question_t *question, ik_store_t *local, const char *server, res_t read)
{
    ik_store_hits_t *here;
    ik_store_hits_t *hits = question->hits;
    size_t limit = question->search.limit;
    TRY(read);
    TRY(ik_store_search(question, local, &question->search, &here));
    for (size_t i = 0; i < here->count && (limit == 0 || hits->count < limit); i++) {
        bool withheld;
        TRY(ik_store_sqlite_is_withheld(local, server, here->hits[i].session_id, &withheld));
        if (withheld) {
            hits->hits = ik_resize_array(hits, hits->hits, ik_store_hit_t, hits->count + 1);
            hits->hits[hits->count++] = here->hits[i];
        }
    }
    return OK;
}

static void report_search(const ik_history_question_t *started, const res_t *result)
{
    started->on_answer.search(started->data, result,
                              is_ok(result) ? started->question->hits : NULL);
}

static const kind_t search_kind = {.ask = ask_reading,
                                   .settle = settle_reading,
                                   .report = report_search,
                                   .read = read_search,
                                   .join = join_search};

res_t ik_history_search(const void *ctx, ik_history_t *history, const ik_store_search_t *search,
                        ik_store_hits_t **out)
{
    question_t asked = {.kind = &search_kind, .search = *search};
    question_t *answer;
    res_t result = run_and_take(ctx, history, &asked, &answer);
    *out = answer->hits;
    return result;
}

ik_history_question_t *ik_history_search_start(const void *ctx, ik_history_t *history,
                                               const ik_store_search_t *search,
                                               ik_history_search_fn on_search, void *data)
{
    question_t asked = {.kind = &search_kind, .search = *search};
    return start(ctx, history, &asked, (listener_t){.search = on_search}, data);
}

/* --- what stays here --------------------------------------------------------------------- */

static res_t ask_withheld(void *data, ik_store_t *local, ik_store_t *shared)
{
    question_t *question = data;
    return ik_store_sqlite_list_withheld(question, local, ik_store_postgres_identity(shared),
                                         &question->filter, &question->list);
}

static res_t settle_withheld(ik_history_t *history, question_t *question, const res_t *answered)
{
    (void)history;
    (void)question;
    return *answered;
}

static const kind_t withheld_kind = {.ask = ask_withheld, .settle = settle_withheld};

res_t ik_history_list_withheld(const void *ctx, ik_history_t *history, ik_store_list_t **out)
{
    question_t asked = {.kind = &withheld_kind, .filter = {.begun = true}};
    question_t *answer;
    res_t result = run_and_take(ctx, history, &asked, &answer);
    *out = answer->list;
    return result;
}

/* --- bringing a session here ------------------------------------------------------------- */

/* Copies a session that is not here yet by way of memory. What a lost server had sent by then would
 * be taken for the whole session. */
static res_t fetch_whole(const char *session_id, ik_store_t *local, ik_store_t *shared)
{
    ik_store_t *memory;
    TRY(ik_store_sqlite_open(NULL, ":memory:", &memory));
    res_t fetched = ik_store_copy(shared, session_id, memory, NULL);
    if (is_ok(&fetched)) {
        fetched = ik_store_copy(memory, session_id, local, NULL);
    }
    talloc_free(memory);
    return fetched;
}

/* A session that came from the server is shared with it. */
static res_t fetch(const question_t *question, ik_store_t *local, ik_store_t *shared)
{
    ik_store_session_t here;
    res_t found = ik_store_find(question, local, question->text, &here);
    if (found.code == IK_ERR_NOT_FOUND) {
        TRY(fetch_whole(question->text, local, shared));
    } else {
        TRY(ik_store_copy(shared, question->text, local, NULL));
    }
    return ik_store_sqlite_share(local, ik_store_postgres_identity(shared), question->text);
}

static res_t ask_fetch(void *data, ik_store_t *local, ik_store_t *shared)
{
    return fetch(data, local, shared);
}

/* A session that was deleted on the server can still be read here. */
static res_t require_local(ik_history_t *history, question_t *question, const res_t *answered)
{
    ik_store_t *local;
    TRY(ik_history_local(history, &local));
    res_t found = ik_store_find(question, local, question->text, &question->session);
    if (found.code == IK_ERR_NOT_FOUND && history->delivery != NULL && is_unanswered(answered)) {
        return ERR(NOT_FOUND,
                   "Session %s is not on this machine, and the shared history did not send it: %s",
                   question->text, answered->message);
    }
    return found;
}

static res_t settle_fetch(ik_history_t *history, question_t *question, const res_t *answered)
{
    if (is_err(answered) && !is_unanswered(answered) && answered->code != IK_ERR_NOT_FOUND) {
        return *answered;
    }
    return require_local(history, question, answered);
}

static const kind_t fetch_kind = {.ask = ask_fetch, .settle = settle_fetch, .fetches = true};

res_t ik_history_fetch(ik_history_t *history, const char *session_id)
{
    question_t *question = copy_question(&(question_t){.kind = &fetch_kind, .text = session_id});
    res_t result = run(history, &question);
    talloc_free(question);
    return result;
}

/* --- the right to write it --------------------------------------------------------------- */

/* Holds the session on the server, too, as soon as it answers. The session is marked as shared
 * before its first event is written. An error can be ignored: writing that event would fail as
 * well. */
static void hold(ik_history_t *history, const char *session_id)
{
    snprintf(history->claimed, sizeof(history->claimed), "%s", session_id);
    if (history->delivery != NULL) {
        ik_history_share(history, session_id);
        ik_delivery_hold(history->delivery, session_id, &history->self);
    }
}

static res_t ask_release(void *data, ik_store_t *local, ik_store_t *shared)
{
    (void)local;
    const question_t *question = data;
    return ik_store_release(shared, question->text, &question->self);
}

static void release_shared(ik_history_t *history, const char *session_id)
{
    if (history->delivery != NULL) {
        question_t question = {.text = session_id, .self = history->self};
        ik_delivery_submit(history->delivery, ask_release, copy_question(&question));
    }
}

static res_t ask_claim(void *data, ik_store_t *local, ik_store_t *shared)
{
    question_t *question = data;
    TRY(ik_store_claim(shared, question->text, &question->self, &question->other));
    res_t fetched = fetch(question, local, shared);
    return fetched.code == IK_ERR_NOT_FOUND ? OK : fetched;
}

static res_t claim_local(ik_history_t *history, question_t *question, const res_t *answered)
{
    ik_store_t *local;
    TRY(require_local(history, question, answered));
    TRY(ik_history_local(history, &local));
    return ik_store_claim(local, question->text, &history->self, &question->other);
}

/* The worker may have claimed the session or may be about to; the release comes after that. */
static void withdraw_claim(ik_history_t *history, const question_t *question)
{
    if (!is_claimed(history, question->text)) {
        release_shared(history, question->text);
    }
}

static res_t settle_claim(ik_history_t *history, question_t *question, const res_t *answered)
{
    res_t claimed = *answered;
    if (is_ok(answered) || is_unanswered(answered)) {
        claimed = claim_local(history, question, answered);
    }
    if (is_ok(&claimed)) {
        hold(history, question->text);
    } else {
        withdraw_claim(history, question);
    }
    return claimed;
}

static void report_claim(const ik_history_question_t *started, const res_t *result)
{
    started->on_answer.claim(started->data, result, &started->question->other);
}

static const kind_t claim_kind = {.ask = ask_claim,
                                  .settle = settle_claim,
                                  .report = report_claim,
                                  .withdraw = withdraw_claim,
                                  .fetches = true};

static question_t ask_to_claim(const ik_history_t *history, const char *session_id)
{
    return (question_t){.kind = &claim_kind, .text = session_id, .self = history->self};
}

/* A session that is already claimed is in the local file, and no other process can have written it.
 */
res_t ik_history_claim(ik_history_t *history, const char *session_id, ik_holder_t *other)
{
    question_t asked = ask_to_claim(history, session_id);
    question_t *question = copy_question(&asked);
    res_t claimed = is_claimed(history, session_id) ? claim_local(history, question, &OK)
                                                    : run(history, &question);
    *other = question->other;
    talloc_free(question);
    return claimed;
}

ik_history_question_t *ik_history_claim_start(const void *ctx, ik_history_t *history,
                                              const char *session_id, ik_history_claim_fn on_claim,
                                              void *data)
{
    question_t asked = ask_to_claim(history, session_id);
    return start(ctx, history, &asked, (listener_t){.claim = on_claim}, data);
}

res_t ik_history_begin(ik_history_t *history, const char *session_id)
{
    ik_store_t *local;
    ik_holder_t other;
    TRY(ik_history_local(history, &local));
    TRY(ik_store_claim(local, session_id, &history->self, &other));
    hold(history, session_id);
    return OK;
}

void ik_history_release(ik_history_t *history, const char *session_id)
{
    if (is_claimed(history, session_id)) {
        history->claimed[0] = '\0';
    }
    if (history->local != NULL) {
        ik_store_release(history->local, session_id, &history->self);
    }
    if (history->delivery != NULL) {
        ik_delivery_let_go(history->delivery, session_id);
    }
    release_shared(history, session_id);
}

/* --- removing ---------------------------------------------------------------------------- */

static res_t ask_remove(void *data, ik_store_t *local, ik_store_t *shared)
{
    (void)local;
    question_t *question = data;
    TRY(ik_store_claim(shared, question->text, &question->self, &question->other));
    res_t removed = ik_store_remove(shared, question->text);
    ik_store_release(shared, question->text, &question->self);
    return removed;
}

/* The local session, which is claimed, is removed last. */
static res_t settle_remove(ik_history_t *history, question_t *question, const res_t *answered)
{
    ik_store_t *local;
    bool shared = history->delivery != NULL;
    if (shared && is_unanswered(answered)) {
        return ERR(GONE, "The shared history does not answer, so nothing was deleted: try again "
                         "when it does");
    }
    if (shared && is_err(answered) && answered->code != IK_ERR_NOT_FOUND) {
        return *answered;
    }
    TRY(ik_history_local(history, &local));
    res_t removed = ik_store_remove(local, question->text);
    /* It may have been only on the server. */
    return removed.code == IK_ERR_NOT_FOUND && shared ? OK : removed;
}

static const kind_t remove_kind = {.ask = ask_remove, .settle = settle_remove};

res_t ik_history_remove(ik_history_t *history, const char *session_id)
{
    ik_store_t *local;
    ik_holder_t other;
    TRY(ik_history_local(history, &local));
    TRY(ik_store_claim(local, session_id, &history->self, &other));
    question_t *question = copy_question(
        &(question_t){.kind = &remove_kind, .text = session_id, .self = history->self});
    res_t removed = run(history, &question);
    talloc_free(question);
    ik_store_release(local, session_id, &history->self);
    return removed;
}

/* --- notifications ----------------------------------------------------------------------- */

void ik_history_wrote(ik_history_t *history)
{
    if (history->delivery != NULL) {
        ik_delivery_poke(history->delivery);
    }
}

/* Errors do not matter: the next search updates the index. */
void ik_history_tidy(ik_history_t *history)
{
    if (history->local != NULL) {
        ik_store_sqlite_index(history->local, TIDY_EVENTS, NULL);
    }
}

res_t ik_history_index(ik_history_t *history)
{
    ik_store_t *local;
    TRY(ik_history_local(history, &local));
    return ik_store_sqlite_index(local, 0, NULL);
}

res_t ik_history_shrink(ik_history_t *history)
{
    ik_store_t *local;
    TRY(ik_history_local(history, &local));
    return ik_store_sqlite_shrink(local);
}

res_t ik_history_finish(ik_history_t *history, int patience_ms)
{
    return history->delivery == NULL ? OK : ik_delivery_finish(history->delivery, patience_ms);
}

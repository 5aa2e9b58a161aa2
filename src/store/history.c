#include "store/history.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "store/delivery.h"
#include "store/sqlite/store_sqlite.h"

enum {
    PATIENCE_MS = 3000, /* how long a question to the shared history may take */
    FINISH_MS = 5000,
    TIDY_EVENTS = 2000, /* indexed in one go; the rest waits for the next moment */
};

struct ik_history {
    char *file;
    ik_store_t *local;       /* NULL: not open yet */
    ik_delivery_t *delivery; /* NULL: nothing is shared */
    ik_holder_t self;
    ik_history_notice_fn on_notice;
    void *data;
    ik_history_renamed_fn on_renamed;
    void *renamed_data;
};

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
    if (history->on_renamed != NULL) {
        history->on_renamed(history->renamed_data, from, to);
    }
}

static bool is_url(const char *db)
{
    return strncmp(db, "postgresql://", 13) == 0 || strncmp(db, "postgres://", 11) == 0;
}

ik_history_t *ik_history_create(const void *ctx, const ik_history_options_t *options)
{
    ik_history_t *history = ik_new(ctx, ik_history_t);
    bool shared = is_url(options->db);
    history->file = ik_strdup(history, shared ? options->file : options->db);
    history->local = options->local;
    history->self = ik_holder_self();
    history->on_notice = options->on_notice;
    history->data = options->data;
    if (shared) {
        ik_delivery_options_t delivery = {.url = options->db,
                                          .file = history->file,
                                          .loop = options->loop,
                                          .on_notice = on_notice,
                                          .on_renamed = on_renamed,
                                          .data = history};
        history->delivery = ik_delivery_create(history, &delivery);
    }
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

/* --- questions --------------------------------------------------------------------------- */

/* One question of any kind with what it needs and what was found. */
typedef struct {
    ik_store_filter_t filter;
    ik_store_search_t search;
    const char *text; /* a prefix, or the id of a session */
    ik_holder_t self;
    ik_holder_t other;
    ik_store_list_t *list;
    ik_store_hits_t *hits;
    ik_store_session_t session;
} question_t;

static const char *copy_or_null(const void *ctx, const char *text)
{
    return text == NULL ? NULL : ik_strdup(ctx, text);
}

static question_t *create_question(const ik_history_t *history, const char *text)
{
    question_t *question = ik_new(NULL, question_t);
    question->text = copy_or_null(question, text);
    question->self = history->self;
    return question;
}

/* Asks the shared history. IK_ERR_GONE, without a question, when there is none, or no answer. */
static res_t ask(ik_history_t *history, ik_delivery_fn answer, question_t **question)
{
    if (history->delivery == NULL) {
        TALLOC_FREE(*question);
        return ERR(GONE, "nothing is shared");
    }
    void *asked = *question;
    res_t answered = ik_delivery_ask(history->delivery, answer, &asked, PATIENCE_MS);
    if (answered.code == IK_ERR_GONE) {
        TALLOC_FREE(asked);
    }
    *question = asked;
    return answered;
}

static bool is_unanswered(const res_t *answered)
{
    return answered->code == IK_ERR_GONE;
}

static res_t answer_list(void *data, ik_store_t *local, ik_store_t *shared)
{
    (void)local;
    question_t *question = data;
    return ik_store_list(question, shared, &question->filter, &question->list);
}

res_t ik_history_list(const void *ctx, ik_history_t *history, const ik_store_filter_t *filter,
                      ik_store_list_t **out)
{
    question_t *question = create_question(history, NULL);
    question->filter = *filter;
    question->filter.cwd = copy_or_null(question, filter->cwd);
    res_t answered = ask(history, answer_list, &question);
    if (is_unanswered(&answered)) {
        ik_store_t *local;
        TRY(ik_history_local(history, &local));
        return ik_store_list(ctx, local, filter, out);
    }
    assert(question != NULL); /* it was answered */
    *out = question->list;
    talloc_steal(ctx, question);
    return answered;
}

static res_t answer_find(void *data, ik_store_t *local, ik_store_t *shared)
{
    (void)local;
    question_t *question = data;
    return ik_store_find(question, shared, question->text, &question->session);
}

res_t ik_history_find(const void *ctx, ik_history_t *history, const char *prefix,
                      ik_store_session_t *out)
{
    question_t *question = create_question(history, prefix);
    res_t answered = ask(history, answer_find, &question);
    if (is_unanswered(&answered)) {
        ik_store_t *local;
        TRY(ik_history_local(history, &local));
        return ik_store_find(ctx, local, prefix, out);
    }
    assert(question != NULL);
    *out = question->session;
    talloc_steal(ctx, question);
    return answered;
}

static res_t answer_search(void *data, ik_store_t *local, ik_store_t *shared)
{
    (void)local;
    question_t *question = data;
    return ik_store_search(question, shared, &question->search, &question->hits);
}

res_t ik_history_search(const void *ctx, ik_history_t *history, const ik_store_search_t *search,
                        ik_store_hits_t **out)
{
    question_t *question = create_question(history, NULL);
    question->search = *search;
    question->search.text = ik_strdup(question, search->text);
    question->search.session_id = copy_or_null(question, search->session_id);
    res_t answered = ask(history, answer_search, &question);
    if (is_unanswered(&answered)) {
        ik_store_t *local;
        TRY(ik_history_local(history, &local));
        return ik_store_search(ctx, local, search, out);
    }
    assert(question != NULL);
    *out = question->hits;
    talloc_steal(ctx, question);
    return answered;
}

/* --- one session ------------------------------------------------------------------------- */

static res_t answer_fetch(void *data, ik_store_t *local, ik_store_t *shared)
{
    const question_t *question = data;
    return ik_store_copy(shared, question->text, local, NULL);
}

/* A session that only this machine has, because it was deleted elsewhere, can still be read. */
static res_t require_local(ik_history_t *history, const char *session_id)
{
    void *scratch = talloc_new(NULL);
    ik_store_t *local;
    ik_store_session_t session;
    res_t found = ik_history_local(history, &local);
    if (is_ok(&found)) {
        found = ik_store_find(scratch, local, session_id, &session);
    }
    talloc_free(scratch);
    return found;
}

res_t ik_history_fetch(ik_history_t *history, const char *session_id)
{
    question_t *question = create_question(history, session_id);
    res_t fetched = ask(history, answer_fetch, &question);
    talloc_free(question);
    if (is_err(&fetched) && !is_unanswered(&fetched) && fetched.code != IK_ERR_NOT_FOUND) {
        return fetched;
    }
    return require_local(history, session_id);
}

static res_t answer_claim(void *data, ik_store_t *local, ik_store_t *shared)
{
    question_t *question = data;
    TRY(ik_store_claim(shared, question->text, &question->self, &question->other));
    res_t fetched = ik_store_copy(shared, question->text, local, NULL);
    return fetched.code == IK_ERR_NOT_FOUND ? OK : fetched;
}

/* On the server, too, when it answers. */
static void hold(ik_history_t *history, const char *session_id)
{
    if (history->delivery != NULL) {
        ik_delivery_hold(history->delivery, session_id, &history->self);
    }
}

res_t ik_history_claim(ik_history_t *history, const char *session_id, ik_holder_t *other)
{
    ik_store_t *local;
    question_t *question = create_question(history, session_id);
    res_t claimed = ask(history, answer_claim, &question);
    if (is_err(&claimed) && !is_unanswered(&claimed)) {
        assert(question != NULL);
        *other = question->other;
        talloc_free(question);
        return claimed;
    }
    talloc_free(question);
    TRY(require_local(history, session_id));
    TRY(ik_history_local(history, &local));
    TRY(ik_store_claim(local, session_id, &history->self, other));
    hold(history, session_id);
    return OK;
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

static res_t answer_release(void *data, ik_store_t *local, ik_store_t *shared)
{
    (void)local;
    const question_t *question = data;
    return ik_store_release(shared, question->text, &question->self);
}

void ik_history_release(ik_history_t *history, const char *session_id)
{
    if (history->local != NULL) {
        ik_store_release(history->local, session_id, &history->self);
    }
    if (history->delivery != NULL) {
        ik_delivery_let_go(history->delivery, session_id);
        ik_delivery_tell(history->delivery, answer_release, create_question(history, session_id));
    }
}

/* --- removing ---------------------------------------------------------------------------- */

static res_t answer_remove(void *data, ik_store_t *local, ik_store_t *shared)
{
    (void)local;
    question_t *question = data;
    TRY(ik_store_claim(shared, question->text, &question->self, &question->other));
    res_t removed = ik_store_remove(shared, question->text);
    ik_store_release(shared, question->text, &question->self);
    return removed;
}

static res_t remove_shared(ik_history_t *history, const char *session_id)
{
    if (history->delivery == NULL) {
        return OK;
    }
    question_t *question = create_question(history, session_id);
    res_t removed = ask(history, answer_remove, &question);
    talloc_free(question);
    if (is_unanswered(&removed)) {
        return ERR(GONE, "The shared history does not answer, so nothing was deleted: try again "
                         "when it does");
    }
    return removed.code == IK_ERR_NOT_FOUND ? OK : removed;
}

res_t ik_history_remove(ik_history_t *history, const char *session_id)
{
    ik_store_t *local;
    ik_holder_t other;
    TRY(ik_history_local(history, &local));
    TRY(ik_store_claim(local, session_id, &history->self, &other));
    res_t removed = remove_shared(history, session_id);
    if (is_ok(&removed)) {
        removed = ik_store_remove(local, session_id);
        /* It may have been on the server alone. */
        removed = removed.code == IK_ERR_NOT_FOUND && history->delivery != NULL ? OK : removed;
    }
    ik_store_release(local, session_id, &history->self);
    return removed;
}

/* --- moments ----------------------------------------------------------------------------- */

void ik_history_wrote(ik_history_t *history)
{
    if (history->delivery != NULL) {
        ik_delivery_poke(history->delivery);
    }
}

/* That the index is not up to date is no loss: the next search sees to it. */
void ik_history_tidy(ik_history_t *history)
{
    if (history->local != NULL) {
        ik_store_sqlite_index(history->local, TIDY_EVENTS, NULL);
    }
}

void ik_history_finish(ik_history_t *history)
{
    if (history->delivery != NULL) {
        ik_delivery_finish(history->delivery, FINISH_MS);
    }
}

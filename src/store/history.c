#include "store/history.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/config.h"
#include "base/file.h"
#include "store/history_state.h"
#include "store/postgres/pq_url.h"
#include "store/sqlite/store_sqlite.h"

enum { TIDY_EVENTS = 2000 }; /* indexed by one ik_history_tidy */

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

const char *ik_history_local_file(const char *db, const char *file)
{
    return ik_pq_url_is_one(db) ? file : db;
}

static int close_history(ik_history_t *history)
{
    ik_history_drop_questions(history);
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

res_t ik_history_finish(ik_history_t *history, int patience_ms)
{
    return history->delivery == NULL ? OK : ik_delivery_finish(history->delivery, patience_ms);
}

#include "store/sqlite/sqlite_survey.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "store/sqlite/sqlite_state.h"
#include "store/sqlite/store_sqlite.h"

static sqlite3 *database(ik_store_t *store)
{
    return ((ik_sqlite_t *)store)->db;
}

/* --- figures ----------------------------------------------------------------------------- */

/* Runs a statement that returns a number, and finalizes it. */
static res_t take_number(sqlite3_stmt *statement, int64_t *number)
{
    bool row;
    res_t stepped = ik_sqlite_step(statement, &row);
    if (is_ok(&stepped)) {
        *number = row ? sqlite3_column_int64(statement, 0) : 0;
    }
    sqlite3_finalize(statement);
    return stepped;
}

static res_t query_number(ik_store_t *store, const char *sql, int64_t *number)
{
    sqlite3_stmt *statement;
    TRY(ik_sqlite_prepare(database(store), sql, &statement));
    return take_number(statement, number);
}

res_t ik_sqlite_survey_undelivered(ik_store_t *store, const char *server, const char *address,
                                   int64_t *count)
{
    sqlite3_stmt *statement;
    TRY(ik_sqlite_prepare(database(store),
                          "SELECT count(*) FROM messages m JOIN sessions s ON s.key = m.session"
                          " WHERE m.id > coalesce((SELECT max(last_id) FROM deliveries"
                          "     WHERE ?1 IS NULL OR server = ?1), 0)"
                          " AND (EXISTS(SELECT 1 FROM deliveries WHERE consent = ?2"
                          "     AND (?1 IS NULL OR server = ?1))"
                          "   OR EXISTS(SELECT 1 FROM shared WHERE session_id = s.id"
                          "     AND (?1 IS NULL OR server IN (?1, ?3))))",
                          &statement));
    sqlite3_bind_text(statement, 1, server, -1, SQLITE_STATIC);
    sqlite3_bind_int(statement, 2, IK_STORE_SHARE_ALL);
    sqlite3_bind_text(statement, 3, address, -1, SQLITE_STATIC);
    return take_number(statement, count);
}

/* --- holders ----------------------------------------------------------------------------- */

static void add_use(const void *ctx, ik_history_survey_t *survey, sqlite3_stmt *row)
{
    ik_holder_t holder = {.pid = sqlite3_column_int64(row, 1),
                          .started = sqlite3_column_int64(row, 2)};
    snprintf(holder.host, sizeof(holder.host), "%s", (const char *)sqlite3_column_text(row, 3));
    if (!ik_holder_may_live(&holder)) {
        return;
    }
    survey->uses = ik_resize_array(ctx, survey->uses, ik_history_use_t, survey->use_count + 1);
    survey->uses[survey->use_count++] = (ik_history_use_t){
        .session_id = ik_strdup(ctx, (const char *)sqlite3_column_text(row, 0)), .holder = holder};
}

static res_t find_uses(const void *ctx, ik_store_t *store, ik_history_survey_t *survey)
{
    sqlite3_stmt *select;
    bool row;
    TRY(ik_sqlite_prepare(database(store),
                          "SELECT session_id, pid, started, host FROM holders ORDER BY session_id",
                          &select));
    res_t stepped = ik_sqlite_step(select, &row);
    while (is_ok(&stepped) && row) {
        add_use(ctx, survey, select);
        stepped = ik_sqlite_step(select, &row);
    }
    sqlite3_finalize(select);
    return stepped;
}

res_t ik_sqlite_survey(const void *ctx, ik_store_t *store, ik_history_survey_t *out)
{
    *out = (ik_history_survey_t){.sessions = 0};
    TRY(query_number(store, "SELECT count(*) FROM sessions", &out->sessions));
    TRY(query_number(store, "SELECT count(*) FROM messages", &out->messages));
    return find_uses(ctx, store, out);
}

/* --- integrity --------------------------------------------------------------------------- */

static res_t check_message(ik_store_t *store, sqlite3_stmt *row)
{
    ik_packer_t *packer = ((ik_sqlite_t *)store)->packer;
    const char *text;
    size_t len;
    res_t read = ik_packed_text_read(packer, row, 2, &text, &len);
    if (is_ok(&read)) {
        read = ik_packed_text_read(packer, row, 3, &text, &len);
    }
    if (is_ok(&read)) {
        return OK;
    }
    const char *id = (const char *)sqlite3_column_text(row, 0);
    int64_t seq = sqlite3_column_int64(row, 1);
    return ERR(DAMAGED, "%s: message %" PRId64 " of session %s: %s",
               sqlite3_db_filename(database(store), "main"), seq, id, read.message);
}

/* SQLite's check does not decompress texts. */
static res_t check_messages(ik_store_t *store)
{
    sqlite3_stmt *select;
    bool row;
    TRY(ik_sqlite_prepare(database(store),
                          "SELECT s.id, seq, content, data_json FROM messages m"
                          " JOIN sessions s ON s.key = m.session ORDER BY m.id",
                          &select));
    res_t checked = ik_sqlite_step(select, &row);
    while (is_ok(&checked) && row) {
        checked = check_message(store, select);
        if (is_ok(&checked)) {
            checked = ik_sqlite_step(select, &row);
        }
    }
    sqlite3_finalize(select);
    return checked;
}

res_t ik_sqlite_survey_check(ik_store_t *store)
{
    TRY(ik_store_sqlite_check(store));
    return check_messages(store);
}

/* --- the library ------------------------------------------------------------------------- */

res_t ik_sqlite_survey_library(const void *ctx, char **out)
{
    /* Tries it, because not every build reports its compile options. */
    sqlite3 *db;
    bool has_fts5 =
        sqlite3_open(":memory:", &db) == SQLITE_OK &&
        sqlite3_exec(db, "CREATE VIRTUAL TABLE t USING fts5(words)", NULL, NULL, NULL) == SQLITE_OK;
    sqlite3_close(db);
    if (!has_fts5) {
        return ERR(
            NOT_FOUND,
            "SQLite %s was built without FTS5, which the history needs: install a build that "
            "has it",
            sqlite3_libversion());
    }
    *out = ik_sprintf(ctx, "SQLite %s with FTS5", sqlite3_libversion());
    return OK;
}

#include "store/sqlite/sqlite_wreck.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"
#include "store/sqlite/packed_text.h"
#include "store/sqlite/sqlite_link.h"
#include "store/sqlite/sqlite_schema.h"

/* How many ids are tried one by one after a damaged one: more than there are on many pages. */
enum { ONE_BY_ONE = 10000 };
enum { BUSY_MS = 1000 };

typedef enum { PLACE, MESSAGE, SESSION, AGENTS, STATEMENTS } statement_t;

struct ik_sqlite_wreck {
    sqlite3 *db;
    ik_packer_t *packer;
    sqlite3_stmt *statements[STATEMENTS]; /* NULL: the table cannot be read */
    int64_t next;                         /* id to continue from */
    int64_t found;                        /* messages so far */
    bool whole;                           /* no row was skipped */
};

/* The short columns of a message are on the same page as its id, so the position of a message is
 * known even where the overflow pages of its texts are lost. */
static const char *const sql[STATEMENTS] = {
    [PLACE] = "SELECT id, session, agent, seq FROM messages WHERE id >= ?1 ORDER BY id LIMIT 1",
    [MESSAGE] = "SELECT kind, content, data_json, created_at FROM messages WHERE id = ?1",
    [SESSION] = "SELECT id, cwd, host, model, created_at FROM sessions WHERE key = ?1",
    [AGENTS] = ("SELECT number, coalesce(parent, 0), forked_at, created_at FROM agents"
                " WHERE session = ?1 ORDER BY number"),
};

/* Resets the statement and binds its parameter; NULL when it could not be prepared. */
static sqlite3_stmt *begin(ik_sqlite_wreck_t *wreck, statement_t which, int64_t number)
{
    sqlite3_stmt *statement = wreck->statements[which];
    if (statement != NULL) {
        sqlite3_reset(statement);
        sqlite3_bind_int64(statement, 1, number);
    }
    return statement;
}

static bool next_row(sqlite3_stmt *statement)
{
    return statement != NULL && sqlite3_step(statement) == SQLITE_ROW;
}

/* --- finding messages -------------------------------------------------------------------- */

typedef enum { FOUND, BROKEN, END } probe_t;

static bool is_place(sqlite3_stmt *row, int64_t from)
{
    for (int column = 0; column < 4; column++) {
        if (sqlite3_column_type(row, column) != SQLITE_INTEGER) {
            return false;
        }
    }
    /* A page in the wrong branch of the tree could make the search go in circles. */
    return sqlite3_column_int64(row, 0) >= from && sqlite3_column_int64(row, 2) > 0;
}

/* Finds the first row with at least this id. */
static probe_t probe(ik_sqlite_wreck_t *wreck, int64_t from, ik_sqlite_wreck_row_t *row)
{
    sqlite3_stmt *place = begin(wreck, PLACE, from);
    int stepped = place == NULL ? SQLITE_CORRUPT : sqlite3_step(place);
    probe_t result = stepped == SQLITE_DONE ? END : BROKEN;
    if (stepped == SQLITE_ROW && is_place(place, from)) {
        *row = (ik_sqlite_wreck_row_t){.id = sqlite3_column_int64(place, 0),
                                       .session = sqlite3_column_int64(place, 1),
                                       .agent = sqlite3_column_int64(place, 2),
                                       .seq = sqlite3_column_int64(place, 3)};
        result = FOUND;
    }
    if (place != NULL) {
        sqlite3_reset(place);
    }
    return result;
}

/* Bisects: at low nothing can be read; at high there is a readable row or the end. */
static probe_t find_end_of_hole(ik_sqlite_wreck_t *wreck, int64_t low, int64_t high,
                                ik_sqlite_wreck_row_t *row)
{
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (probe(wreck, middle, row) == BROKEN) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return probe(wreck, high, row);
}

/* Ids are dense, so the next row after a damaged page is near; only when a whole branch of the tree
 * is missing do the steps grow. */
static probe_t skip_hole(ik_sqlite_wreck_t *wreck, int64_t broken, ik_sqlite_wreck_row_t *row)
{
    int64_t step = 1;
    for (int tries = 1; step <= INT64_MAX - broken; tries++) {
        if (probe(wreck, broken + step, row) != BROKEN) {
            return find_end_of_hole(wreck, broken, broken + step, row);
        }
        broken += step;
        step = tries < ONE_BY_ONE ? 1 : (step > INT64_MAX / 2 ? step : 2 * step);
    }
    return END;
}

bool ik_sqlite_wreck_next(ik_sqlite_wreck_t *wreck, ik_sqlite_wreck_row_t *row)
{
    probe_t probed = probe(wreck, wreck->next, row);
    if (probed == BROKEN) {
        wreck->whole = false;
        probed = wreck->statements[PLACE] == NULL ? END : skip_hole(wreck, wreck->next, row);
    }
    if (probed != FOUND || row->id == INT64_MAX) {
        return false;
    }
    wreck->next = row->id + 1;
    wreck->found++;
    return true;
}

/* Returns the number a query yields, or otherwise when it fails. */
static int64_t query_number(sqlite3 *db, const char *query, int64_t otherwise)
{
    sqlite3_stmt *statement = NULL;
    sqlite3_prepare_v2(db, query, -1, &statement, NULL);
    int64_t number = next_row(statement) ? sqlite3_column_int64(statement, 0) : otherwise;
    sqlite3_finalize(statement);
    return number;
}

/* The unique index on seq lists every message on other pages. */
int64_t ik_sqlite_wreck_count(ik_sqlite_wreck_t *wreck)
{
    int64_t listed = query_number(
        wreck->db, "SELECT count(*) FROM messages INDEXED BY sqlite_autoindex_messages_1", -1);
    if (listed >= wreck->found) {
        return listed;
    }
    return wreck->whole ? wreck->found : -1;
}

/* --- reading ----------------------------------------------------------------------------- */

/* Only UTF-8 without NUL was ever written. */
static bool is_text(const char *text, size_t len)
{
    return strlen(text) == len && ik_utf8_valid(text, len);
}

/* *text is NULL for SQL NULL. */
static bool read_packed(ik_sqlite_wreck_t *wreck, sqlite3_stmt *row, int column, const char **text)
{
    size_t len;
    res_t read = ik_packed_text_read(wreck->packer, row, column, text, &len);
    return is_ok(&read) && (*text == NULL || is_text(*text, len));
}

static bool read_text(sqlite3_stmt *row, int column, const char **text)
{
    if (sqlite3_column_type(row, column) != SQLITE_TEXT) {
        return false;
    }
    *text = (const char *)sqlite3_column_text(row, column);
    return *text != NULL && is_text(*text, (size_t)sqlite3_column_bytes(row, column));
}

/* As read_text; the bytes need not be UTF-8. */
static bool read_path(sqlite3_stmt *row, int column, const char **text)
{
    if (sqlite3_column_type(row, column) != SQLITE_TEXT) {
        return false;
    }
    *text = (const char *)sqlite3_column_text(row, column);
    return *text != NULL && strlen(*text) == (size_t)sqlite3_column_bytes(row, column);
}

bool ik_sqlite_wreck_read(ik_sqlite_wreck_t *wreck, const ik_sqlite_wreck_row_t *row,
                          ik_store_event_t *event)
{
    ik_json_span_t value;
    sqlite3_stmt *message = begin(wreck, MESSAGE, row->id);
    if (!next_row(message) || !read_text(message, 0, &event->kind) ||
        !read_packed(wreck, message, 1, &event->content) ||
        !read_packed(wreck, message, 2, &event->data_json)) {
        return false;
    }
    event->agent = row->agent;
    event->seq = row->seq;
    event->created_us = sqlite3_column_int64(message, 3);
    return event->data_json == NULL ||
           ik_json_scan(event->data_json, strlen(event->data_json), &value, NULL);
}

bool ik_sqlite_wreck_session(const void *ctx, ik_sqlite_wreck_t *wreck, int64_t key,
                             ik_store_session_t *out)
{
    enum { ID, CWD, HOST, MODEL, TEXTS };
    const char *texts[TEXTS];
    sqlite3_stmt *session = begin(wreck, SESSION, key);
    if (!next_row(session)) {
        return false;
    }
    for (int column = 0; column < TEXTS; column++) {
        if (!(column == CWD ? read_path : read_text)(session, column, &texts[column])) {
            return false;
        }
    }
    *out = (ik_store_session_t){.id = ik_strdup(ctx, texts[ID]),
                                .cwd = ik_strdup(ctx, texts[CWD]),
                                .host = ik_strdup(ctx, texts[HOST]),
                                .model = ik_strdup(ctx, texts[MODEL]),
                                .created_us = sqlite3_column_int64(session, TEXTS)};
    return strlen(out->id) == IK_STORE_ID_LEN &&
           strspn(out->id, "0123456789abcdef") == IK_STORE_ID_LEN;
}

ik_store_agents_t *ik_sqlite_wreck_agents(const void *ctx, ik_sqlite_wreck_t *wreck, int64_t key)
{
    ik_store_agents_t *agents = ik_new(ctx, ik_store_agents_t);
    sqlite3_stmt *row = begin(wreck, AGENTS, key);
    while (next_row(row)) {
        size_t count = agents->count++;
        agents->agents = ik_resize_array(agents, agents->agents, ik_store_agent_t, count + 1);
        agents->agents[count] = (ik_store_agent_t){.number = sqlite3_column_int64(row, 0),
                                                   .parent = sqlite3_column_int64(row, 1),
                                                   .forked_at = sqlite3_column_int64(row, 2),
                                                   .created_us = sqlite3_column_int64(row, 3)};
    }
    return agents;
}

/* --- opening ----------------------------------------------------------------------------- */

static int close_wreck(ik_sqlite_wreck_t *wreck)
{
    for (size_t i = 0; i < STATEMENTS; i++) {
        sqlite3_finalize(wreck->statements[i]);
    }
    sqlite3_close_v2(wreck->db);
    return 0;
}

/* Refuses files that are known to be foreign or newer; a damaged file may not say. */
static res_t refuse_others(sqlite3 *db, const char *path)
{
    int64_t version = query_number(db, "SELECT max(version) FROM schema_version", -1);
    bool foreign =
        version < 0 &&
        query_number(db, "SELECT count(*) FROM sqlite_master WHERE name = 'schema_version'", 1) ==
            0 &&
        query_number(db, "SELECT count(*) FROM sqlite_master", 0) > 0;
    if (foreign) {
        return ERR(CONFLICT,
                   "%s is damaged and not a history of ikigai: choose another file with --db",
                   path);
    }
    return version > IK_SQLITE_SCHEMA
               ? ERR(CONFLICT,
                     "%s is damaged and was written by a newer ikigai: repair it with that version",
                     path)
               : OK;
}

/* What a process still writes would end up in the renamed file. Whether processes of other machines
 * live cannot be checked. */
static res_t refuse_held(sqlite3 *db, const char *path)
{
    sqlite3_stmt *select = NULL;
    ik_holder_t self = ik_holder_self();
    res_t result = OK;
    sqlite3_prepare_v2(db, "SELECT pid, started, host, session_id FROM holders", -1, &select, NULL);
    while (is_ok(&result) && next_row(select)) {
        ik_holder_t holder = {.pid = sqlite3_column_int64(select, 0),
                              .started = sqlite3_column_int64(select, 1)};
        const char *host;
        const char *id;
        if (!read_text(select, 2, &host) || !read_text(select, 3, &id)) {
            continue;
        }
        snprintf(holder.host, sizeof(holder.host), "%s", host);
        if (strcmp(holder.host, self.host) == 0 && !ik_holder_equal(&holder, &self) &&
            ik_holder_may_live(&holder)) {
            result = ERR(CONFLICT,
                         "%s is damaged and session %s is %s: end it, then run `ikigai doctor` "
                         "again",
                         path, id, ik_holder_describe_use(&holder).text);
        }
    }
    sqlite3_finalize(select);
    return result;
}

/* Errors that mean a damaged file. Others (no memory, no room for the WAL index) may be temporary.
 */
static bool is_damage(int code)
{
    switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR: /* unknown version of the file format */
        return true;
    case SQLITE_IOERR:
        return code == SQLITE_IOERR_READ || code == SQLITE_IOERR_SHORT_READ;
    default:
        return false;
    }
}

/* Locks the file against writers. When it is too damaged to be locked, it cannot be written either.
 * writable_schema is needed to read a file that is shorter than its header says. */
static res_t lock(sqlite3 *db, const char *path)
{
    sqlite3_busy_timeout(db, BUSY_MS);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_exec(db, "PRAGMA writable_schema=ON", NULL, NULL, NULL);
    int begun = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if ((begun & 0xff) == SQLITE_BUSY) {
        return ERR(CONFLICT, "%s is damaged and in use: try again when no process writes to it",
                   path);
    }
    if (begun != SQLITE_OK && !is_damage(begun)) {
        return ik_sqlite_error(db);
    }
    sqlite3_exec(db, "PRAGMA query_only=ON", NULL, NULL, NULL);
    return OK;
}

static res_t open_database(ik_sqlite_wreck_t *wreck, const char *path)
{
    if (access(path, R_OK | W_OK) != 0) {
        return ERR(DENIED, "%s: %s", path, strerror(errno));
    }
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    if (sqlite3_open_v2(path, &wreck->db, flags, NULL) != SQLITE_OK) {
        return ik_sqlite_error_at(wreck->db, path);
    }
    /* Closing must not copy the write-ahead log into the file. An empty log may be removed. */
    struct stat status;
    char *log = ik_sprintf(NULL, "%s-wal", path);
    bool has_log = stat(log, &status) == 0 && status.st_size > 0;
    talloc_free(log);
    sqlite3_db_config(wreck->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, has_log ? 1 : 0, NULL);
    TRY(lock(wreck->db, path));
    TRY(refuse_others(wreck->db, path));
    TRY(refuse_held(wreck->db, path));
    for (size_t i = 0; i < STATEMENTS; i++) {
        sqlite3_prepare_v2(wreck->db, sql[i], -1, &wreck->statements[i], NULL);
    }
    return OK;
}

res_t ik_sqlite_wreck_open(const void *ctx, const char *path, ik_sqlite_wreck_t **out)
{
    ik_sqlite_wreck_t *wreck = ik_new(ctx, ik_sqlite_wreck_t);
    wreck->packer = ik_packer_create(wreck);
    wreck->next = 1;
    wreck->whole = true;
    talloc_set_destructor(wreck, close_wreck);
    res_t opened = open_database(wreck, path);
    if (is_err(&opened)) {
        talloc_free(wreck);
        return opened;
    }
    *out = wreck;
    return OK;
}

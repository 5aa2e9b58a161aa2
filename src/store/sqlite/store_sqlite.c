#include "store/sqlite/store_sqlite.h"

#include <string.h>

#include "base/alloc.h"
#include "store/sqlite/sqlite_schema.h"
#include "store/sqlite/sqlite_search.h"
#include "store/sqlite/sqlite_state.h"

/* --- sessions ---------------------------------------------------------------------------- */

#define SESSIONS(messages)                                                                         \
    "SELECT id, cwd, host, model, coalesce(title, ''), created_at, updated_at, turns,"             \
    " tokens_in, tokens_cached, tokens_cache_write, tokens_out, tokens_reasoning, cost, " messages \
    " FROM sessions "
/* Adds the number of events of all agents without records; inherited events are not included. */
#define COUNTED                                                                                    \
    SESSIONS("(SELECT sum(coalesce((SELECT max(seq) FROM messages"                                 \
             " WHERE session = a.session AND agent = a.number), forked_at) - forked_at)"           \
             " FROM agents a WHERE a.session = key)"                                               \
             " - (SELECT count(*) FROM messages WHERE session = key AND " IK_SQLITE_RECORDS ")")
/* Two statements, because LIMIT makes SQLite keep a tree, which is much slower for all sessions. */
#define BEGUN " AND (NOT ?5 OR turns > 0 OR EXISTS(SELECT 1 FROM messages WHERE session = key))"
#define LIST "WHERE (?1 IS NULL OR cwd = ?1)" BEGUN " ORDER BY updated_at DESC, key DESC"
#define LIST_FIRST LIST " LIMIT ?2"

static int64_t known_number(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? IK_USAGE_UNKNOWN
                                                           : sqlite3_column_int64(row, column);
}

static ik_store_session_t read_session(const void *ctx, sqlite3_stmt *row)
{
    return (ik_store_session_t){
        .id = ik_sqlite_copy_text(ctx, row, 0),
        .cwd = ik_sqlite_copy_text(ctx, row, 1),
        .host = ik_sqlite_copy_text(ctx, row, 2),
        .model = ik_sqlite_copy_text(ctx, row, 3),
        .title = ik_sqlite_copy_text(ctx, row, 4),
        .created_us = sqlite3_column_int64(row, 5),
        .updated_us = sqlite3_column_int64(row, 6),
        .turns = sqlite3_column_int64(row, 7),
        .usage = {.in = known_number(row, 8),
                  .cached = known_number(row, 9),
                  .cache_write = known_number(row, 10),
                  .out = known_number(row, 11),
                  .reasoning = known_number(row, 12)},
        .cost = sqlite3_column_type(row, 13) == SQLITE_NULL ? -1 : sqlite3_column_double(row, 13),
        .messages = sqlite3_column_int64(row, 14),
    };
}

/* Reads all rows of a statement and finalizes it. */
static res_t read_sessions(const void *ctx, sqlite3_stmt *statement, ik_store_list_t **out)
{
    ik_store_list_t *list = ik_new(ctx, ik_store_list_t);
    size_t capacity = 0;
    bool row;
    res_t stepped = ik_sqlite_step(statement, &row);
    while (is_ok(&stepped) && row) {
        if (list->count == capacity) {
            capacity = capacity == 0 ? 16 : 2 * capacity;
            list->sessions = ik_resize_array(list, list->sessions, ik_store_session_t, capacity);
        }
        list->sessions[list->count++] = read_session(list, statement);
        stepped = ik_sqlite_step(statement, &row);
    }
    sqlite3_finalize(statement);
    *out = list;
    return stepped;
}

static res_t list_sessions(const void *ctx, ik_store_t *store, const ik_store_filter_t *filter,
                           ik_store_list_t **out)
{
    static const char *const sql[2][2] = {{COUNTED LIST, COUNTED LIST_FIRST},
                                          {SESSIONS("0") LIST, SESSIONS("0") LIST_FIRST}};
    bool limited = filter->limit > 0;
    sqlite3_stmt *select;
    TRY(ik_sqlite_prepare(((ik_sqlite_t *)store)->db, sql[filter->uncounted][limited], &select));
    sqlite3_bind_text(select, 1, filter->cwd, -1, SQLITE_STATIC);
    if (limited) {
        sqlite3_bind_int64(select, 2, (int64_t)filter->limit);
    }
    sqlite3_bind_int(select, 5, filter->begun);
    return read_sessions(ctx, select, out);
}

res_t ik_store_sqlite_list_withheld(const void *ctx, ik_store_t *store, const char *server,
                                    const ik_store_filter_t *filter, ik_store_list_t **out)
{
#define WITHHELD                                                                                   \
    "WHERE (?1 IS NULL OR cwd = ?1)"                                                               \
    " AND id NOT IN (SELECT session_id FROM shared WHERE server = ?3)"                             \
    " AND NOT EXISTS(SELECT 1 FROM deliveries WHERE server = ?3 AND consent = ?4)" BEGUN           \
    " ORDER BY updated_at DESC, key DESC LIMIT ?2"
    sqlite3_stmt *select;
    TRY(ik_sqlite_prepare(((ik_sqlite_t *)store)->db,
                          filter->uncounted ? SESSIONS("0") WITHHELD : COUNTED WITHHELD, &select));
#undef WITHHELD
    sqlite3_bind_text(select, 1, filter->cwd, -1, SQLITE_STATIC);
    sqlite3_bind_int64(select, 2, filter->limit == 0 ? -1 : (int64_t)filter->limit);
    sqlite3_bind_text(select, 3, server, -1, SQLITE_STATIC);
    sqlite3_bind_int(select, 4, IK_STORE_SHARE_ALL);
    sqlite3_bind_int(select, 5, filter->begun);
    return read_sessions(ctx, select, out);
}

/* Ids are hexadecimal, so those with the prefix lie between the prefix and the prefix with 'g'. */
static res_t find_sessions(const void *ctx, ik_store_t *store, const char *prefix,
                           ik_store_list_t **out)
{
    sqlite3_stmt *select;
    TRY(ik_sqlite_prepare(((ik_sqlite_t *)store)->db,
                          COUNTED "WHERE id >= ?1 AND id < ?1 || 'g'"
                                  " ORDER BY updated_at DESC LIMIT 10",
                          &select));
    sqlite3_bind_text(select, 1, prefix, -1, SQLITE_STATIC);
    return read_sessions(ctx, select, out);
}

/* --- agents and their logs --------------------------------------------------------------- */

static void add_agent(ik_store_agents_t *agents, const char *session_id, sqlite3_stmt *row)
{
    agents->agents = ik_resize_array(agents, agents->agents, ik_store_agent_t, agents->count + 1);
    agents->agents[agents->count++] = (ik_store_agent_t){
        .session_id = session_id,
        .number = sqlite3_column_int64(row, 0),
        .parent = sqlite3_column_int64(row, 1),
        .forked_at = sqlite3_column_int64(row, 2),
        .created_us = sqlite3_column_int64(row, 3),
        .last_seq = sqlite3_column_int64(row, 4),
        .updated_us = sqlite3_column_int64(row, 5),
    };
}

static res_t read_agents(const void *ctx, ik_store_t *store, const char *session_id,
                         ik_store_agents_t **out)
{
    ik_store_agents_t *agents = ik_new(ctx, ik_store_agents_t);
    const char *id = ik_strdup(agents, session_id);
    sqlite3_stmt *select;
    bool row;
    TRY(ik_sqlite_prepare(((ik_sqlite_t *)store)->db,
                          "SELECT number, coalesce(parent, 0), forked_at, a.created_at,"
                          " coalesce((SELECT max(seq) FROM messages m"
                          "   WHERE m.session = a.session AND m.agent = a.number), forked_at),"
                          " coalesce((SELECT m.created_at FROM messages m"
                          "   WHERE m.session = a.session AND m.agent = a.number"
                          "   ORDER BY seq DESC LIMIT 1), a.created_at)"
                          " FROM agents a JOIN sessions ON key = a.session"
                          " WHERE id = ?1 ORDER BY number",
                          &select));
    sqlite3_bind_text(select, 1, session_id, -1, SQLITE_STATIC);
    res_t stepped = ik_sqlite_step(select, &row);
    while (is_ok(&stepped) && row) {
        add_agent(agents, id, select);
        stepped = ik_sqlite_step(select, &row);
    }
    sqlite3_finalize(select);
    *out = agents;
    return stepped;
}

static res_t hand_out(ik_sqlite_t *sqlite, sqlite3_stmt *row, ik_store_event_t *event,
                      ik_store_event_fn on_event, void *data)
{
    size_t len;
    event->seq = sqlite3_column_int64(row, 0);
    event->kind = (const char *)sqlite3_column_text(row, 1);
    TRY(ik_packed_text_read(sqlite->packer, row, 2, &event->content, &len));
    TRY(ik_packed_text_read(sqlite->packer, row, 3, &event->data_json, &len));
    event->created_us = sqlite3_column_int64(row, 4);
    return on_event(data, event);
}

static res_t hand_out_events(ik_sqlite_t *sqlite, const ik_store_agent_t *agent, int64_t after,
                             ik_store_event_fn on_event, void *data)
{
    ik_store_event_t event = {.session_id = agent->session_id, .agent = agent->number};
    int64_t key;
    sqlite3_stmt *select;
    bool row;
    TRY(ik_sqlite_find_key(sqlite, agent->session_id, &key));
    TRY(ik_sqlite_prepare(sqlite->db,
                          "SELECT seq, kind, content, data_json, created_at FROM messages"
                          " WHERE session = ?1 AND agent = ?2 AND seq > ?3 ORDER BY seq",
                          &select));
    sqlite3_bind_int64(select, 1, key);
    sqlite3_bind_int64(select, 2, agent->number);
    sqlite3_bind_int64(select, 3, after);
    res_t stepped = ik_sqlite_step(select, &row);
    while (is_ok(&stepped) && row) {
        stepped = hand_out(sqlite, select, &event, on_event, data);
        if (is_ok(&stepped)) {
            stepped = ik_sqlite_step(select, &row);
        }
    }
    sqlite3_finalize(select);
    return stepped;
}

/* Each page is read only once, so a small cache does. Pages of a large one would lie between the
 * messages in memory and fragment it. */
static res_t read_events(ik_store_t *store, const ik_store_agent_t *agent, int64_t after,
                         ik_store_event_fn on_event, void *data)
{
    ik_sqlite_t *sqlite = (ik_sqlite_t *)store;
    TRY(ik_sqlite_run(sqlite->db, "PRAGMA cache_size=-128"));
    res_t read = hand_out_events(sqlite, agent, after, on_event, data);
    res_t restored = ik_sqlite_run(sqlite->db, "PRAGMA cache_size=-2000");
    return is_err(&read) ? read : restored;
}

/* --- searching --------------------------------------------------------------------------- */

static res_t search(const void *ctx, ik_store_t *store, const ik_store_search_t *wanted,
                    ik_store_hits_t **out)
{
    ik_sqlite_t *sqlite = (ik_sqlite_t *)store;
    return ik_sqlite_search_find(ctx, sqlite->db, sqlite->packer, wanted, out);
}

res_t ik_store_sqlite_index(ik_store_t *store, size_t most, bool *left)
{
    ik_sqlite_t *sqlite = (ik_sqlite_t *)store;
    bool more;
    res_t indexed =
        ik_sqlite_search_index(sqlite->db, sqlite->packer, most, left == NULL ? &more : left);
    sqlite3_db_release_memory(sqlite->db); /* little of it is used again */
    return indexed;
}

/* --- removing ---------------------------------------------------------------------------- */

typedef struct {
    ik_sqlite_t *sqlite;
    const char *session_id;
} removal_t;

/* Runs a statement whose parameter is the key of a session. */
static res_t run_with_key(ik_sqlite_t *sqlite, const char *sql, int64_t key)
{
    sqlite3_stmt *statement;
    TRY(ik_sqlite_prepare(sqlite->db, sql, &statement));
    sqlite3_bind_int64(statement, 1, key);
    res_t done = ik_sqlite_execute(statement);
    sqlite3_finalize(statement);
    return done;
}

static res_t remove_all(void *data)
{
    const removal_t *removal = data;
    ik_sqlite_t *sqlite = removal->sqlite;
    int64_t key;
    TRY(ik_sqlite_find_key(sqlite, removal->session_id, &key));
    TRY(ik_sqlite_search_forget(sqlite->db, sqlite->packer, key));
    TRY(run_with_key(
        sqlite, "DELETE FROM shared WHERE session_id = (SELECT id FROM sessions WHERE key = ?1)",
        key));
    TRY(run_with_key(sqlite, "DELETE FROM usage WHERE session = ?1", key));
    TRY(run_with_key(sqlite, "DELETE FROM messages WHERE session = ?1", key));
    TRY(run_with_key(sqlite, "DELETE FROM sessions WHERE key = ?1", key));
    /* Freed ids may be given to new messages, which must not count as indexed or delivered. */
    TRY(ik_sqlite_search_settle(sqlite->db));
    return ik_sqlite_run(sqlite->db, "UPDATE deliveries SET changes = changes + 1,"
                                     " last_id = min(last_id,"
                                     " coalesce((SELECT max(id) FROM messages), 0))");
}

/* secure_delete overwrites deleted data in the file at the next checkpoint. */
static res_t remove_session(ik_store_t *store, const char *session_id)
{
    ik_sqlite_t *sqlite = (ik_sqlite_t *)store;
    removal_t removal = {sqlite, session_id};
    TRY(ik_sqlite_run(sqlite->db, "PRAGMA secure_delete=ON"));
    sqlite->agent = 0;
    return ik_sqlite_transact(sqlite->db, remove_all, &removal);
}

res_t ik_store_sqlite_shrink(ik_store_t *store)
{
    ik_sqlite_t *sqlite = (ik_sqlite_t *)store;
    TRY(ik_sqlite_search_purge(sqlite->db)); /* or the index keeps words of deleted sessions */
    TRY(ik_sqlite_run(sqlite->db, "VACUUM"));
    sqlite3_wal_checkpoint_v2(sqlite->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return OK;
}

/* --- one writer per session -------------------------------------------------------------- */

typedef struct {
    ik_sqlite_t *sqlite;
    const char *session_id;
    const ik_holder_t *self;
    ik_holder_t *other;
} claim_t;

static ik_holder_t read_holder(sqlite3_stmt *row)
{
    ik_holder_t holder = {.pid = sqlite3_column_int64(row, 0),
                          .started = sqlite3_column_int64(row, 1)};
    const char *host = (const char *)sqlite3_column_text(row, 2);
    snprintf(holder.host, sizeof(holder.host), "%s", host == NULL ? "" : host);
    return holder;
}

static res_t refuse_held(const claim_t *claim)
{
    sqlite3_stmt *select;
    bool row;
    TRY(ik_sqlite_prepare(claim->sqlite->db,
                          "SELECT pid, started, host FROM holders WHERE session_id = ?1", &select));
    sqlite3_bind_text(select, 1, claim->session_id, -1, SQLITE_STATIC);
    res_t stepped = ik_sqlite_step(select, &row);
    if (is_ok(&stepped) && row) {
        ik_holder_t holder = read_holder(select);
        if (!ik_holder_equal(&holder, claim->self) && ik_holder_may_live(&holder)) {
            *claim->other = holder;
            stepped = ERR(CONFLICT, "Session %s is %s", claim->session_id,
                          ik_holder_describe_use(&holder).text);
        }
    }
    sqlite3_finalize(select);
    return stepped;
}

static res_t take_claim(void *data)
{
    const claim_t *claim = data;
    sqlite3_stmt *insert;
    TRY(refuse_held(claim));
    TRY(ik_sqlite_prepare(claim->sqlite->db,
                          "INSERT OR REPLACE INTO holders(session_id, pid, started, host)"
                          " VALUES(?1, ?2, ?3, ?4)",
                          &insert));
    sqlite3_bind_text(insert, 1, claim->session_id, -1, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 2, claim->self->pid);
    sqlite3_bind_int64(insert, 3, claim->self->started);
    sqlite3_bind_text(insert, 4, claim->self->host, -1, SQLITE_STATIC);
    res_t done = ik_sqlite_execute(insert);
    sqlite3_finalize(insert);
    return done;
}

static res_t claim_session(ik_store_t *store, const char *session_id, const ik_holder_t *self,
                           ik_holder_t *other)
{
    claim_t claim = {(ik_sqlite_t *)store, session_id, self, other};
    return ik_sqlite_transact(claim.sqlite->db, take_claim, &claim);
}

static res_t release_session(ik_store_t *store, const char *session_id, const ik_holder_t *self)
{
    ik_sqlite_t *sqlite = (ik_sqlite_t *)store;
    sqlite3_stmt *remove;
    TRY(ik_sqlite_prepare(sqlite->db,
                          "DELETE FROM holders WHERE session_id = ?1 AND pid = ?2 AND"
                          " started = ?3 AND host = ?4",
                          &remove));
    sqlite3_bind_text(remove, 1, session_id, -1, SQLITE_STATIC);
    sqlite3_bind_int64(remove, 2, self->pid);
    sqlite3_bind_int64(remove, 3, self->started);
    sqlite3_bind_text(remove, 4, self->host, -1, SQLITE_STATIC);
    res_t done = ik_sqlite_execute(remove);
    sqlite3_finalize(remove);
    return done;
}

/* --- opening and checking ---------------------------------------------------------------- */

static const ik_store_kind_t kind = {
    .write = ik_sqlite_write,
    .transact = ik_sqlite_transact_writes,
    .list = list_sessions,
    .find = find_sessions,
    .agents = read_agents,
    .read = read_events,
    .search = search,
    .remove = remove_session,
    .claim = claim_session,
    .release = release_session,
};

static int close_database(ik_sqlite_t *sqlite)
{
    for (size_t i = 0; i < IK_SQLITE_STATEMENTS; i++) {
        sqlite3_finalize(sqlite->statements[i]);
    }
    sqlite3_close_v2(sqlite->db);
    return 0;
}

res_t ik_store_sqlite_open(const void *ctx, const char *path, ik_store_t **out)
{
    ik_sqlite_t *sqlite = ik_new(ctx, ik_sqlite_t);
    sqlite->store.kind = &kind;
    sqlite->packer = ik_packer_create(sqlite);
    talloc_set_destructor(sqlite, close_database);
    res_t opened = ik_sqlite_open(path, &sqlite->db);
    if (is_ok(&opened)) {
        int lock = ik_sqlite_begin_making(path);
        opened = ik_sqlite_schema_migrate(sqlite->db);
        ik_sqlite_end_making(lock);
    }
    if (is_err(&opened)) {
        talloc_free(sqlite);
        return opened;
    }
    *out = &sqlite->store;
    return OK;
}

/* Reports the first fault only. Lines before it name the database. */
res_t ik_store_sqlite_check(ik_store_t *store)
{
    sqlite3 *db = ((ik_sqlite_t *)store)->db;
    sqlite3_stmt *check;
    bool row;
    TRY(ik_sqlite_prepare(db, "PRAGMA integrity_check(1)", &check));
    res_t checked = ik_sqlite_step(check, &row);
    if (is_ok(&checked) && row && strcmp((const char *)sqlite3_column_text(check, 0), "ok") != 0) {
        const char *said = (const char *)sqlite3_column_text(check, 0);
        const char *last = strrchr(said, '\n');
        checked = ERR(DAMAGED, "%s: it is damaged (%s)", sqlite3_db_filename(db, "main"),
                      last == NULL ? said : last + 1);
    }
    sqlite3_finalize(check);
    TRY(checked);
    /* An inconsistent search index is emptied and rebuilt. */
    bool emptied = false;
    if (sqlite3_db_readonly(db, "main") == 0) {
        TRY(ik_sqlite_search_check(db, &emptied));
    }
    return emptied ? ik_store_sqlite_index(store, 0, NULL) : OK;
}

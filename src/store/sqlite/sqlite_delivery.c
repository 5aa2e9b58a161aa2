/*
 * What a server has is one number, last_id: the id of the last message that was delivered or need
 * not be. Ids grow in the order of the commits, so all later messages are missing on the server.
 * When an older session is shared, last_id goes back to before that session; the server ignores
 * messages that it already has. Each such change is counted, so that a program that examined the
 * log before the change does not move last_id past messages that it skipped.
 */
#include <string.h>

#include "base/alloc.h"
#include "store/sqlite/sqlite_state.h"
#include "store/sqlite/store_sqlite.h"

enum { BATCH_EVENTS = 1000, BATCH_BYTES = 1 << 20 };

/* A batch under construction. ctx owns everything in it. */
typedef struct {
    const void *ctx;
    ik_sqlite_t *sqlite;
    ik_store_event_t *events;
    size_t event_count;
    size_t bytes;
    ik_store_session_t *sessions;
    size_t session_count;
    ik_store_agent_t *agents;
    size_t agent_count;
    ik_store_delivered_t mark;
} gathering_t;

static res_t gather_text(gathering_t *gathering, sqlite3_stmt *row, int column, const char **text)
{
    const char *stored;
    size_t len;
    TRY(ik_packed_text_read(gathering->sqlite->packer, row, column, &stored, &len));
    *text = stored == NULL ? NULL : ik_strndup(gathering->ctx, stored, len);
    gathering->bytes += len;
    return OK;
}

static res_t gather_event(gathering_t *gathering, sqlite3_stmt *row)
{
    gathering->mark.last = sqlite3_column_int64(row, 0);
    if (!sqlite3_column_int(row, 8)) {
        return OK; /* the session is not shared */
    }
    ik_store_event_t *event = &gathering->events[gathering->event_count++];
    event->session_id = ik_strdup(gathering->ctx, (const char *)sqlite3_column_text(row, 1));
    event->agent = sqlite3_column_int64(row, 2);
    event->seq = sqlite3_column_int64(row, 3);
    event->kind = ik_strdup(gathering->ctx, (const char *)sqlite3_column_text(row, 4));
    event->created_us = sqlite3_column_int64(row, 7);
    TRY(gather_text(gathering, row, 5, &event->content));
    return gather_text(gathering, row, 6, &event->data_json);
}

/* The row of a server in deliveries; all 0 when there is none. */
typedef struct {
    int64_t last;
    int64_t changes;
    ik_store_consent_t consent;
    bool known;
} state_t;

static res_t read_state(ik_sqlite_t *sqlite, const char *server, state_t *state)
{
    sqlite3_stmt *select;
    bool row;
    *state = (state_t){0};
    TRY(ik_sqlite_prepare(
        sqlite->db, "SELECT last_id, changes, consent FROM deliveries WHERE server = ?1", &select));
    sqlite3_bind_text(select, 1, server, -1, SQLITE_STATIC);
    res_t stepped = ik_sqlite_step(select, &row);
    if (is_ok(&stepped) && row) {
        *state = (state_t){.last = sqlite3_column_int64(select, 0),
                           .changes = sqlite3_column_int64(select, 1),
                           .consent = (ik_store_consent_t)sqlite3_column_int(select, 2),
                           .known = true};
    }
    sqlite3_finalize(select);
    return stepped;
}

static res_t gather_events(gathering_t *gathering, const char *server)
{
    sqlite3_stmt *select;
    state_t state;
    bool row;
    TRY(read_state(gathering->sqlite, server, &state));
    gathering->mark.changes = state.changes;
    TRY(ik_sqlite_prepare(gathering->sqlite->db,
                          "SELECT m.id, s.id, agent, seq, kind, content, data_json, m.created_at,"
                          " ?4 OR EXISTS(SELECT 1 FROM shared"
                          "   WHERE server = ?1 AND session_id = s.id)"
                          " FROM messages m JOIN sessions s ON s.key = m.session"
                          " WHERE m.id > ?3 ORDER BY m.id LIMIT ?2",
                          &select));
    sqlite3_bind_text(select, 1, server, -1, SQLITE_STATIC);
    sqlite3_bind_int64(select, 2, BATCH_EVENTS);
    sqlite3_bind_int64(select, 3, state.last);
    sqlite3_bind_int(select, 4, state.consent == IK_STORE_SHARE_ALL);
    res_t stepped = ik_sqlite_step(select, &row);
    while (is_ok(&stepped) && row && gathering->bytes < BATCH_BYTES) {
        stepped = gather_event(gathering, select);
        if (is_ok(&stepped)) {
            stepped = ik_sqlite_step(select, &row);
        }
    }
    sqlite3_finalize(select);
    return stepped;
}

static bool has_session(const gathering_t *gathering, const char *id)
{
    for (size_t i = 0; i < gathering->session_count; i++) {
        if (strcmp(gathering->sessions[i].id, id) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds a session with all its agents. */
static res_t gather_session(gathering_t *gathering, const char *id)
{
    ik_store_t *store = &gathering->sqlite->store;
    ik_store_agents_t *agents;
    gathering->sessions = ik_resize_array(gathering->ctx, gathering->sessions, ik_store_session_t,
                                          gathering->session_count + 1);
    TRY(ik_store_find(gathering->ctx, store, id, &gathering->sessions[gathering->session_count]));
    gathering->session_count++;
    TRY(ik_store_agents(gathering->ctx, store, id, &agents));
    gathering->agents = ik_resize_array(gathering->ctx, gathering->agents, ik_store_agent_t,
                                        gathering->agent_count + agents->count);
    memcpy(gathering->agents + gathering->agent_count, agents->agents,
           agents->count * sizeof(*agents->agents));
    gathering->agent_count += agents->count;
    return OK;
}

static res_t gather(gathering_t *gathering, const char *server)
{
    TRY(gather_events(gathering, server));
    for (size_t i = 0; i < gathering->event_count; i++) {
        if (!has_session(gathering, gathering->events[i].session_id)) {
            TRY(gather_session(gathering, gathering->events[i].session_id));
        }
    }
    return OK;
}

/* Reads everything in one transaction, so that a session that is deleted meanwhile is either
 * complete or absent. */
res_t ik_store_sqlite_undelivered(const void *ctx, ik_store_t *store, const char *server,
                                  ik_store_batch_t *out, ik_store_delivered_t *mark)
{
    gathering_t gathering = {.ctx = ctx, .sqlite = (ik_sqlite_t *)store};
    gathering.events = ik_new_array(ctx, ik_store_event_t, BATCH_EVENTS);
    TRY(ik_sqlite_run(gathering.sqlite->db, "BEGIN"));
    res_t gathered = gather(&gathering, server);
    sqlite3_exec(gathering.sqlite->db, "ROLLBACK", NULL, NULL, NULL); /* nothing was written */
    *mark = gathering.mark;
    *out = (ik_store_batch_t){
        .sessions = gathering.sessions,
        .session_count = gathering.session_count,
        .agents = gathering.agents,
        .agent_count = gathering.agent_count,
        .events = gathering.events,
        .event_count = gathering.event_count,
        .safety = IK_STORE_FULL,
    };
    return gathered;
}

/* max, because two programs may deliver at the same time, and the slower one must not lower the
 * mark.
 */
res_t ik_store_sqlite_mark_delivered(ik_store_t *store, const char *server,
                                     const ik_store_delivered_t *mark)
{
    sqlite3_stmt *insert;
    TRY(ik_sqlite_prepare(((ik_sqlite_t *)store)->db,
                          "INSERT INTO deliveries(server, last_id) VALUES(?1, ?2)"
                          " ON CONFLICT(server) DO UPDATE SET last_id = max(last_id, ?2)"
                          " WHERE changes = ?3",
                          &insert));
    sqlite3_bind_text(insert, 1, server, -1, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 2, mark->last);
    sqlite3_bind_int64(insert, 3, mark->changes);
    res_t marked = ik_sqlite_execute(insert);
    sqlite3_finalize(insert);
    return marked;
}

/* --- what is shared ---------------------------------------------------------------------- */

/* Runs a statement with texts for ?1 and, unless second is NULL, ?2. */
static res_t run_with(ik_sqlite_t *sqlite, const char *sql, const char *first, const char *second)
{
    sqlite3_stmt *statement;
    TRY(ik_sqlite_prepare(sqlite->db, sql, &statement));
    sqlite3_bind_text(statement, 1, first, -1, SQLITE_STATIC);
    if (second != NULL) {
        sqlite3_bind_text(statement, 2, second, -1, SQLITE_STATIC);
    }
    res_t done = ik_sqlite_execute(statement);
    sqlite3_finalize(statement);
    return done;
}

res_t ik_store_sqlite_redeliver(ik_store_t *store, const char *server)
{
    return run_with((ik_sqlite_t *)store,
                    "UPDATE deliveries SET last_id = 0, changes = changes + 1 WHERE server = ?1",
                    server, NULL);
}

res_t ik_store_sqlite_share(ik_store_t *store, const char *server, const char *session_id)
{
    return run_with((ik_sqlite_t *)store,
                    "INSERT OR IGNORE INTO shared(server, session_id) VALUES(?1, ?2)", server,
                    session_id);
}

typedef struct {
    ik_sqlite_t *sqlite;
    const char *address;
    const char *server;
} adoption_t;

static res_t adopt_all(void *data)
{
    const adoption_t *adoption = data;
    ik_sqlite_t *sqlite = adoption->sqlite;
    TRY(run_with(sqlite, "INSERT OR IGNORE INTO deliveries(server, last_id) VALUES(?1, 0)",
                 adoption->server, NULL));
    TRY(run_with(sqlite,
                 "UPDATE deliveries SET changes = changes + 1, last_id = min(last_id, coalesce("
                 "(SELECT min(m.id) - 1 FROM shared f JOIN sessions s ON s.id = f.session_id"
                 "   JOIN messages m ON m.session = s.key WHERE f.server = ?1 AND NOT EXISTS("
                 "     SELECT 1 FROM shared t WHERE t.server = ?2 AND t.session_id = s.id)),"
                 " last_id)) WHERE server = ?2",
                 adoption->address, adoption->server));
    TRY(run_with(sqlite,
                 "INSERT OR IGNORE INTO shared SELECT ?2, session_id FROM shared WHERE server = ?1",
                 adoption->address, adoption->server));
    return run_with(sqlite, "DELETE FROM shared WHERE server = ?1", adoption->address, NULL);
}

static res_t has_shared(ik_sqlite_t *sqlite, const char *server, bool *has)
{
    sqlite3_stmt *select;
    TRY(ik_sqlite_prepare(sqlite->db, "SELECT 1 FROM shared WHERE server = ?1 LIMIT 1", &select));
    sqlite3_bind_text(select, 1, server, -1, SQLITE_STATIC);
    res_t stepped = ik_sqlite_step(select, has);
    sqlite3_finalize(select);
    return stepped;
}

res_t ik_store_sqlite_adopt(ik_store_t *store, const char *address, const char *server, bool *first)
{
    adoption_t adoption = {(ik_sqlite_t *)store, address, server};
    state_t state;
    bool due;
    TRY(read_state(adoption.sqlite, server, &state));
    TRY(has_shared(adoption.sqlite, address, &due));
    *first = !state.known;
    return due || !state.known ? ik_sqlite_transact(adoption.sqlite->db, adopt_all, &adoption) : OK;
}

res_t ik_store_sqlite_read_consent(ik_store_t *store, const char *server,
                                   ik_store_consent_t *consent, int64_t *withheld)
{
    ik_sqlite_t *sqlite = (ik_sqlite_t *)store;
    sqlite3_stmt *count;
    state_t state;
    bool row;
    TRY(read_state(sqlite, server, &state));
    *consent = state.consent;
    *withheld = 0;
    if (state.consent == IK_STORE_SHARE_ALL) {
        return OK;
    }
    TRY(ik_sqlite_prepare(sqlite->db,
                          "SELECT count(*) FROM sessions s WHERE NOT EXISTS(SELECT 1 FROM shared"
                          " WHERE server = ?1 AND session_id = s.id)"
                          " AND EXISTS(SELECT 1 FROM messages WHERE session = s.key)",
                          &count));
    sqlite3_bind_text(count, 1, server, -1, SQLITE_STATIC);
    res_t stepped = ik_sqlite_step(count, &row);
    if (is_ok(&stepped) && row) {
        *withheld = sqlite3_column_int64(count, 0);
    }
    sqlite3_finalize(count);
    return stepped;
}

res_t ik_store_sqlite_is_withheld(ik_store_t *store, const char *server, const char *session_id,
                                  bool *withheld)
{
    ik_sqlite_t *sqlite = (ik_sqlite_t *)store;
    sqlite3_stmt *select;
    state_t state;
    bool shared;
    TRY(read_state(sqlite, server, &state));
    TRY(ik_sqlite_prepare(sqlite->db, "SELECT 1 FROM shared WHERE server = ?1 AND session_id = ?2",
                          &select));
    sqlite3_bind_text(select, 1, server, -1, SQLITE_STATIC);
    sqlite3_bind_text(select, 2, session_id, -1, SQLITE_STATIC);
    res_t stepped = ik_sqlite_step(select, &shared);
    sqlite3_finalize(select);
    *withheld = !shared && state.consent != IK_STORE_SHARE_ALL;
    return stepped;
}

res_t ik_store_sqlite_set_consent(ik_store_t *store, const char *server, ik_store_consent_t consent)
{
    sqlite3_stmt *insert;
    TRY(ik_sqlite_prepare(((ik_sqlite_t *)store)->db,
                          "INSERT INTO deliveries(server, last_id, consent) VALUES(?1, 0, ?2)"
                          " ON CONFLICT(server) DO UPDATE SET consent = ?2, changes = changes + 1,"
                          " last_id = CASE WHEN ?3 THEN 0 ELSE last_id END",
                          &insert));
    sqlite3_bind_text(insert, 1, server, -1, SQLITE_STATIC);
    sqlite3_bind_int(insert, 2, (int)consent);
    sqlite3_bind_int(insert, 3, consent == IK_STORE_SHARE_ALL);
    res_t set = ik_sqlite_execute(insert);
    sqlite3_finalize(insert);
    return set;
}

/* --- renaming ---------------------------------------------------------------------------- */

typedef struct {
    ik_sqlite_t *sqlite;
    const char *from;
    const char *to;
} renaming_t;

static res_t run_renaming(const renaming_t *renaming, const char *sql)
{
    return run_with(renaming->sqlite, sql, renaming->from, renaming->to);
}

static res_t rename_all(void *data)
{
    const renaming_t *renaming = data;
    int64_t key;
    TRY(ik_sqlite_find_key(renaming->sqlite, renaming->from, &key));
    TRY(run_renaming(renaming, "UPDATE deliveries SET changes = changes + 1,"
                               " last_id = min(last_id, coalesce("
                               "(SELECT min(m.id) - 1 FROM messages m JOIN sessions s"
                               " ON s.key = m.session WHERE s.id IN (?1, ?2)), last_id))"));
    TRY(run_renaming(renaming, "INSERT OR IGNORE INTO shared SELECT server, ?2 FROM shared"
                               " WHERE session_id = ?1"));
    TRY(run_renaming(renaming, "UPDATE holders SET session_id = ?2 WHERE session_id = ?1"));
    return run_renaming(renaming, "UPDATE sessions SET id = ?2 WHERE id = ?1");
}

res_t ik_store_sqlite_rename(ik_store_t *store, const char *session_id, const char *new_id)
{
    renaming_t renaming = {(ik_sqlite_t *)store, session_id, new_id};
    return ik_sqlite_transact(renaming.sqlite->db, rename_all, &renaming);
}

/*
 * What a server has is one number: the id of the last message that arrived. Ids grow in the order
 * of the commits, so that everything behind it is what is missing, in order.
 */
#include <string.h>

#include "base/alloc.h"
#include "store/sqlite/sqlite_state.h"
#include "store/sqlite/store_sqlite.h"

enum { BATCH_EVENTS = 1000, BATCH_BYTES = 1 << 20 };

/* A batch under construction; everything in it belongs to ctx. */
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
    int64_t last;
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
    ik_store_event_t *event = &gathering->events[gathering->event_count++];
    gathering->last = sqlite3_column_int64(row, 0);
    event->session_id = ik_strdup(gathering->ctx, (const char *)sqlite3_column_text(row, 1));
    event->agent = sqlite3_column_int64(row, 2);
    event->seq = sqlite3_column_int64(row, 3);
    event->kind = ik_strdup(gathering->ctx, (const char *)sqlite3_column_text(row, 4));
    event->created_us = sqlite3_column_int64(row, 7);
    TRY(gather_text(gathering, row, 5, &event->content));
    return gather_text(gathering, row, 6, &event->data_json);
}

static res_t gather_events(gathering_t *gathering, const char *server)
{
    sqlite3_stmt *select;
    bool row;
    TRY(ik_sqlite_prepare(gathering->sqlite->db,
                          "SELECT m.id, s.id, agent, seq, kind, content, data_json, m.created_at"
                          " FROM messages m JOIN sessions s ON s.key = m.session"
                          " WHERE m.id > coalesce((SELECT last_id FROM deliveries"
                          "   WHERE server = ?1), 0) ORDER BY m.id LIMIT ?2",
                          &select));
    sqlite3_bind_text(select, 1, server, -1, SQLITE_STATIC);
    sqlite3_bind_int64(select, 2, BATCH_EVENTS);
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

/* A session with all its agents. */
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

static res_t gather(void *data, const char *server)
{
    gathering_t *gathering = data;
    TRY(gather_events(gathering, server));
    for (size_t i = 0; i < gathering->event_count; i++) {
        if (!has_session(gathering, gathering->events[i].session_id)) {
            TRY(gather_session(gathering, gathering->events[i].session_id));
        }
    }
    return OK;
}

/* All of it is read in one transaction: a session that is deleted meanwhile is there as a whole or
 * not at all. */
res_t ik_store_sqlite_undelivered(const void *ctx, ik_store_t *store, const char *server,
                                  ik_store_batch_t *out, int64_t *last)
{
    gathering_t gathering = {.ctx = ctx, .sqlite = (ik_sqlite_t *)store};
    gathering.events = ik_new_array(ctx, ik_store_event_t, BATCH_EVENTS);
    TRY(ik_sqlite_run(gathering.sqlite->db, "BEGIN"));
    res_t gathered = gather(&gathering, server);
    sqlite3_exec(gathering.sqlite->db, "ROLLBACK", NULL, NULL, NULL); /* nothing was written */
    *last = gathering.last;
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

res_t ik_store_sqlite_mark_delivered(ik_store_t *store, const char *server, int64_t last)
{
    sqlite3_stmt *insert;
    TRY(ik_sqlite_prepare(((ik_sqlite_t *)store)->db,
                          "INSERT INTO deliveries(server, last_id) VALUES(?1, ?2)"
                          " ON CONFLICT(server) DO UPDATE SET last_id = ?2",
                          &insert));
    sqlite3_bind_text(insert, 1, server, -1, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 2, last);
    res_t marked = ik_sqlite_execute(insert);
    sqlite3_finalize(insert);
    return marked;
}

/* --- a session that went two ways -------------------------------------------------------- */

typedef struct {
    ik_sqlite_t *sqlite;
    const char *from;
    const char *to;
} renaming_t;

static res_t run_renaming(const renaming_t *renaming, const char *sql)
{
    sqlite3_stmt *update;
    TRY(ik_sqlite_prepare(renaming->sqlite->db, sql, &update));
    sqlite3_bind_text(update, 1, renaming->from, -1, SQLITE_STATIC);
    sqlite3_bind_text(update, 2, renaming->to, -1, SQLITE_STATIC);
    res_t done = ik_sqlite_execute(update);
    sqlite3_finalize(update);
    return done;
}

static res_t rename_all(void *data)
{
    const renaming_t *renaming = data;
    int64_t key;
    TRY(ik_sqlite_find_key(renaming->sqlite, renaming->from, &key));
    TRY(run_renaming(renaming, "UPDATE deliveries SET last_id = min(last_id, coalesce("
                               "(SELECT min(m.id) - 1 FROM messages m JOIN sessions s"
                               " ON s.key = m.session WHERE s.id IN (?1, ?2)), last_id))"));
    TRY(run_renaming(renaming, "UPDATE holders SET session_id = ?2 WHERE session_id = ?1"));
    return run_renaming(renaming, "UPDATE sessions SET id = ?2 WHERE id = ?1");
}

res_t ik_store_sqlite_rename(ik_store_t *store, const char *session_id, const char *new_id)
{
    renaming_t renaming = {(ik_sqlite_t *)store, session_id, new_id};
    return ik_sqlite_transact(renaming.sqlite->db, rename_all, &renaming);
}

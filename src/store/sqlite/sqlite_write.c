/*
 * Writes events. Most batches are one event that changes no figure of its session; these are one
 * statement, which is its own transaction.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "conversation/message.h"
#include "store/event_facts.h"
#include "store/sqlite/sqlite_state.h"

static const char *const sql[IK_SQLITE_STATEMENTS] = {
    [IK_SQLITE_BEGIN] = "BEGIN IMMEDIATE",
    [IK_SQLITE_COMMIT] = "COMMIT",
    [IK_SQLITE_INSERT_SESSION] =
        "INSERT INTO sessions(id, cwd, host, model, created_at, updated_at)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?5) ON CONFLICT(id) DO NOTHING",
    [IK_SQLITE_INSERT_AGENT] =
        "INSERT INTO agents(session, number, parent, forked_at, created_at)"
        " VALUES(?1, ?2, nullif(?3, 0), ?4, ?5) ON CONFLICT(session, number) DO NOTHING",
    [IK_SQLITE_INSERT_MESSAGE] =
        "INSERT INTO messages(session, agent, seq, kind, content, data_json, created_at)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(session, agent, seq) DO NOTHING",
    [IK_SQLITE_INSERT_USAGE] =
        "INSERT INTO usage(session, agent, seq, model, tokens_in, tokens_cached,"
        " tokens_cache_write, tokens_out, tokens_reasoning, cost)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [IK_SQLITE_ADD_TURN] =
        "UPDATE sessions SET turns = turns + 1, updated_at = max(updated_at, ?2),"
        " title = coalesce(title, ?3) WHERE key = ?1",
    /* A sum is NULL until one value is known. Agents may be copied one after the other, so the
     * model is that of the answer with the latest time. */
    [IK_SQLITE_ADD_ANSWER] =
        "UPDATE sessions SET updated_at = max(updated_at, ?2), model = CASE WHEN ?2 >= "
        "coalesce(answered_at, 0) THEN coalesce(?3, model)"
        "   ELSE model END, answered_at = max(coalesce(answered_at, 0), ?2),"
        " tokens_in = coalesce(tokens_in + ?4, tokens_in, ?4),"
        " tokens_cached = coalesce(tokens_cached + ?5, tokens_cached, ?5),"
        " tokens_cache_write = coalesce(tokens_cache_write + ?6, tokens_cache_write, ?6),"
        " tokens_out = coalesce(tokens_out + ?7, tokens_out, ?7),"
        " tokens_reasoning = coalesce(tokens_reasoning + ?8, tokens_reasoning, ?8),"
        " cost = coalesce(cost + ?9, cost, ?9) WHERE key = ?1",
    [IK_SQLITE_SELECT_KEY] = "SELECT key FROM sessions WHERE id = ?1",
    [IK_SQLITE_SELECT_AGENT] =
        "SELECT coalesce(parent, 0), forked_at FROM agents WHERE session = ?1 AND number = ?2",
    [IK_SQLITE_SELECT_LAST] =
        "SELECT coalesce((SELECT max(seq) FROM messages WHERE session = ?1 AND agent = ?2),"
        " forked_at), forked_at + 1 FROM agents WHERE session = ?1 AND number = ?2",
    [IK_SQLITE_SELECT_MESSAGE] = "SELECT kind, content, data_json, created_at FROM messages"
                                 " WHERE session = ?1 AND agent = ?2 AND seq = ?3",
};

/* Prepares the statement on first use. The caller resets it after stepping. */
static res_t prepare(ik_sqlite_t *sqlite, ik_sqlite_statement_t which, sqlite3_stmt **out)
{
    if (sqlite->statements[which] == NULL) {
        TRY(ik_sqlite_prepare(sqlite->db, sql[which], &sqlite->statements[which]));
    }
    *out = sqlite->statements[which];
    return OK;
}

res_t ik_sqlite_find_key(ik_sqlite_t *sqlite, const char *session_id, int64_t *key)
{
    sqlite3_stmt *select;
    bool row;
    TRY(prepare(sqlite, IK_SQLITE_SELECT_KEY, &select));
    sqlite3_bind_text(select, 1, session_id, -1, SQLITE_STATIC);
    TRY(ik_sqlite_step(select, &row));
    if (!row) {
        return ERR(NOT_FOUND, "There is no session %s", session_id);
    }
    *key = sqlite3_column_int64(select, 0);
    sqlite3_reset(select);
    return OK;
}

/* --- sessions and agents ----------------------------------------------------------------- */

static res_t write_session(ik_sqlite_t *sqlite, const ik_store_session_t *session)
{
    sqlite3_stmt *insert;
    if (strlen(session->id) != IK_STORE_ID_LEN) {
        return ERR(INVALID, "'%s' is not a session id", session->id);
    }
    TRY(prepare(sqlite, IK_SQLITE_INSERT_SESSION, &insert));
    sqlite3_bind_text(insert, 1, session->id, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 2, session->cwd, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 3, session->host, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 4, session->model, -1, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 5, session->created_us);
    return ik_sqlite_execute(insert);
}

static res_t compare_agent(ik_sqlite_t *sqlite, int64_t session, const ik_store_agent_t *agent)
{
    sqlite3_stmt *select;
    bool row;
    TRY(prepare(sqlite, IK_SQLITE_SELECT_AGENT, &select));
    sqlite3_bind_int64(select, 1, session);
    sqlite3_bind_int64(select, 2, agent->number);
    TRY(ik_sqlite_step(select, &row));
    bool equal = row && sqlite3_column_int64(select, 0) == agent->parent &&
                 sqlite3_column_int64(select, 1) == agent->forked_at;
    sqlite3_reset(select);
    return equal ? OK
                 : ERR(CONFLICT, "%s: agent %" PRId64 " differs from the stored one",
                       agent->session_id, agent->number);
}

static res_t write_agent(ik_sqlite_t *sqlite, const ik_store_agent_t *agent)
{
    sqlite3_stmt *insert;
    int64_t session = 0;
    TRY(ik_sqlite_find_key(sqlite, agent->session_id, &session));
    TRY(prepare(sqlite, IK_SQLITE_INSERT_AGENT, &insert));
    sqlite3_bind_int64(insert, 1, session);
    sqlite3_bind_int64(insert, 2, agent->number);
    sqlite3_bind_int64(insert, 3, agent->parent);
    sqlite3_bind_int64(insert, 4, agent->forked_at);
    sqlite3_bind_int64(insert, 5, agent->created_us);
    TRY(ik_sqlite_execute(insert));
    return sqlite3_changes(sqlite->db) > 0 ? OK : compare_agent(sqlite, session, agent);
}

/* --- events ------------------------------------------------------------------------------ */

/* Finds the end of the log of the event's agent. */
static res_t find_end_of_log(ik_sqlite_t *sqlite, const ik_store_event_t *event)
{
    sqlite3_stmt *select;
    bool row;
    sqlite->agent = 0; /* unknown until it is found */
    TRY(ik_sqlite_find_key(sqlite, event->session_id, &sqlite->session));
    TRY(prepare(sqlite, IK_SQLITE_SELECT_LAST, &select));
    sqlite3_bind_int64(select, 1, sqlite->session);
    sqlite3_bind_int64(select, 2, event->agent);
    TRY(ik_sqlite_step(select, &row));
    if (!row) {
        return ERR(NOT_FOUND, "Session %s has no agent %" PRId64, event->session_id, event->agent);
    }
    sqlite->last_seq = sqlite3_column_int64(select, 0);
    sqlite->first_seq = sqlite3_column_int64(select, 1);
    sqlite->agent = event->agent;
    snprintf(sqlite->session_id, sizeof(sqlite->session_id), "%s", event->session_id);
    sqlite3_reset(select);
    return OK;
}

/* Checks that the event is the next one of its log, or an earlier one. Sets sqlite->session. */
static res_t check_position(ik_sqlite_t *sqlite, const ik_store_event_t *event)
{
    bool known =
        sqlite->agent == event->agent && strcmp(sqlite->session_id, event->session_id) == 0;
    if (!known || event->seq != sqlite->last_seq + 1) {
        TRY(find_end_of_log(sqlite, event));
    }
    if (event->seq < sqlite->first_seq || event->seq > sqlite->last_seq + 1) {
        return ERR(INVALID, "%s: event %" PRId64 " of agent %" PRId64 " is out of order",
                   event->session_id, event->seq, event->agent);
    }
    return OK;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static res_t compare_row(ik_sqlite_t *sqlite, sqlite3_stmt *row, const ik_store_event_t *event)
{
    const char *content;
    const char *data;
    size_t len;
    TRY(ik_packed_text_read(sqlite->packer, row, 1, &content, &len));
    TRY(ik_packed_text_read(sqlite->packer, row, 2, &data, &len));
    bool equal = is_same_text((const char *)sqlite3_column_text(row, 0), event->kind) &&
                 is_same_text(content, event->content) && is_same_text(data, event->data_json) &&
                 sqlite3_column_int64(row, 3) == event->created_us;
    return equal ? OK
                 : ERR(CONFLICT,
                       "%s: event %" PRId64 " of agent %" PRId64 " differs from the stored one",
                       event->session_id, event->seq, event->agent);
}

/* The event is already stored; it must be equal. */
static res_t compare_event(ik_sqlite_t *sqlite, const ik_store_event_t *event)
{
    sqlite3_stmt *select;
    bool row;
    TRY(prepare(sqlite, IK_SQLITE_SELECT_MESSAGE, &select));
    sqlite3_bind_int64(select, 1, sqlite->session);
    sqlite3_bind_int64(select, 2, event->agent);
    sqlite3_bind_int64(select, 3, event->seq);
    TRY(ik_sqlite_step(select, &row));
    res_t compared = row ? compare_row(sqlite, select, event)
                         : ERR(SYSTEM, "event %" PRId64 " was not written", event->seq);
    sqlite3_reset(select);
    return compared;
}

static res_t insert_message(ik_sqlite_t *sqlite, const ik_store_event_t *event, bool *inserted)
{
    sqlite3_stmt *insert;
    TRY(prepare(sqlite, IK_SQLITE_INSERT_MESSAGE, &insert));
    sqlite3_bind_int64(insert, 1, sqlite->session);
    sqlite3_bind_int64(insert, 2, event->agent);
    sqlite3_bind_int64(insert, 3, event->seq);
    sqlite3_bind_text(insert, 4, event->kind, -1, SQLITE_STATIC);
    ik_packed_text_bind(sqlite->packer, insert, 5, event->content);
    ik_packed_text_bind(sqlite->packer, insert, 6, event->data_json);
    sqlite3_bind_int64(insert, 7, event->created_us);
    res_t executed = ik_sqlite_execute(insert);
    sqlite3_clear_bindings(insert); /* the texts belong to the caller */
    *inserted = is_ok(&executed) && sqlite3_changes(sqlite->db) > 0;
    return executed;
}

/* --- figures ----------------------------------------------------------------------------- */

static void bind_known(sqlite3_stmt *statement, int index, int64_t number)
{
    if (number == IK_USAGE_UNKNOWN) {
        sqlite3_bind_null(statement, index);
    } else {
        sqlite3_bind_int64(statement, index, number);
    }
}

/* Binds the five figures and the cost to the parameters from index on. */
static void bind_usage(sqlite3_stmt *statement, int index, const ik_event_facts_t *facts)
{
    bind_known(statement, index, facts->usage.in);
    bind_known(statement, index + 1, facts->usage.cached);
    bind_known(statement, index + 2, facts->usage.cache_write);
    bind_known(statement, index + 3, facts->usage.out);
    bind_known(statement, index + 4, facts->usage.reasoning);
    if (facts->cost < 0) {
        sqlite3_bind_null(statement, index + 5);
    } else {
        sqlite3_bind_double(statement, index + 5, facts->cost);
    }
}

static res_t add_turn(ik_sqlite_t *sqlite, const ik_store_event_t *event,
                      const ik_event_facts_t *facts)
{
    sqlite3_stmt *update;
    TRY(prepare(sqlite, IK_SQLITE_ADD_TURN, &update));
    sqlite3_bind_int64(update, 1, sqlite->session);
    sqlite3_bind_int64(update, 2, event->created_us);
    /* Only the root agent sets the title, because agents may be copied in any order. */
    sqlite3_bind_text(update, 3, event->agent == IK_STORE_ROOT_AGENT ? facts->title : NULL, -1,
                      SQLITE_STATIC);
    return ik_sqlite_execute(update);
}

static res_t add_answer(ik_sqlite_t *sqlite, const ik_store_event_t *event,
                        const ik_event_facts_t *facts)
{
    sqlite3_stmt *insert;
    sqlite3_stmt *update;
    TRY(prepare(sqlite, IK_SQLITE_INSERT_USAGE, &insert));
    TRY(prepare(sqlite, IK_SQLITE_ADD_ANSWER, &update));
    sqlite3_bind_int64(insert, 1, sqlite->session);
    sqlite3_bind_int64(insert, 2, event->agent);
    sqlite3_bind_int64(insert, 3, event->seq);
    sqlite3_bind_text(insert, 4, facts->model, -1, SQLITE_STATIC);
    bind_usage(insert, 5, facts);
    TRY(ik_sqlite_execute(insert));
    sqlite3_bind_int64(update, 1, sqlite->session);
    sqlite3_bind_int64(update, 2, event->created_us);
    sqlite3_bind_text(update, 3, facts->model, -1, SQLITE_STATIC);
    bind_usage(update, 4, facts);
    return ik_sqlite_execute(update);
}

/* --- a batch ----------------------------------------------------------------------------- */

/* Updates the figures of the session for a new event. */
static res_t add_facts(ik_sqlite_t *sqlite, const ik_store_event_t *event)
{
    void *scratch = talloc_new(NULL);
    ik_event_facts_t facts = ik_event_facts(scratch, event);
    res_t added = OK;
    if (facts.user) {
        added = add_turn(sqlite, event, &facts);
    } else if (facts.answer) {
        added = add_answer(sqlite, event, &facts);
    }
    talloc_free(scratch);
    return added;
}

static res_t write_event(ik_sqlite_t *sqlite, const ik_store_event_t *event)
{
    bool inserted;
    TRY(check_position(sqlite, event));
    TRY(insert_message(sqlite, event, &inserted));
    if (!inserted) {
        return compare_event(sqlite, event);
    }
    sqlite->last_seq = event->seq;
    return add_facts(sqlite, event);
}

static res_t write_parts(ik_sqlite_t *sqlite, const ik_store_batch_t *batch)
{
    for (size_t i = 0; i < batch->session_count; i++) {
        TRY(write_session(sqlite, &batch->sessions[i]));
    }
    for (size_t i = 0; i < batch->agent_count; i++) {
        TRY(write_agent(sqlite, &batch->agents[i]));
    }
    for (size_t i = 0; i < batch->event_count; i++) {
        TRY(write_event(sqlite, &batch->events[i]));
    }
    return OK;
}

static res_t run_prepared(ik_sqlite_t *sqlite, ik_sqlite_statement_t which)
{
    sqlite3_stmt *statement;
    TRY(prepare(sqlite, which, &statement));
    return ik_sqlite_execute(statement);
}

/* As ik_sqlite_transact, with prepared statements, because it runs several times a turn. */
static res_t write_batch(ik_sqlite_t *sqlite, const ik_store_batch_t *batch)
{
    if (!sqlite3_get_autocommit(sqlite->db)) {
        return write_parts(sqlite, batch); /* of ik_sqlite_transact_writes, which rolls back */
    }
    TRY(run_prepared(sqlite, IK_SQLITE_BEGIN));
    res_t written = write_parts(sqlite, batch);
    if (is_ok(&written)) {
        written = run_prepared(sqlite, IK_SQLITE_COMMIT);
    }
    if (is_err(&written)) {
        ik_sqlite_roll_back(sqlite->db);
    }
    return written;
}

/* In WAL mode a commit waits for the disk only with FULL. */
static void set_full_safety(ik_sqlite_t *sqlite, bool full)
{
    sqlite3_exec(sqlite->db, full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", NULL,
                 NULL, NULL); /* cannot fail outside of a transaction */
}

/* Without this check, a file that was removed or replaced would be written on until the end, and
 * everything be lost then. */
static res_t check_place(sqlite3 *db)
{
    int moved = 0;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved == 0 ? OK
                      : ERR(SYSTEM, "%s: it was removed or replaced while it was in use",
                            sqlite3_db_filename(db, "main"));
}

/* One event of a kind that changes no figure of its session is one statement. */
static bool is_plain(const ik_store_batch_t *batch)
{
    return batch->session_count == 0 && batch->agent_count == 0 && batch->event_count == 1 &&
           strcmp(batch->events[0].kind, IK_MSG_TOOL_RESULT) == 0;
}

res_t ik_sqlite_write(ik_store_t *store, const ik_store_batch_t *batch)
{
    ik_sqlite_t *sqlite = (ik_sqlite_t *)store;
    bool full = batch->safety == IK_STORE_FULL && sqlite3_get_autocommit(sqlite->db);
    if (full) {
        TRY(check_place(sqlite->db)); /* a system call, beside a wait for the disk */
        set_full_safety(sqlite, true);
    }
    res_t written =
        is_plain(batch) ? write_event(sqlite, &batch->events[0]) : write_batch(sqlite, batch);
    if (full) {
        set_full_safety(sqlite, false);
    }
    if (is_err(&written)) {
        sqlite->agent = 0; /* the end of the log is unknown now */
    }
    return written;
}

/* The safety cannot change inside a transaction, so it is set for all batches. */
res_t ik_sqlite_transact_writes(ik_store_t *store, ik_store_work_fn work, void *data)
{
    ik_sqlite_t *sqlite = (ik_sqlite_t *)store;
    TRY(check_place(sqlite->db));
    set_full_safety(sqlite, true);
    res_t done = ik_sqlite_transact(sqlite->db, work, data);
    set_full_safety(sqlite, false);
    if (is_err(&done)) {
        sqlite->agent = 0; /* the log ends where it did before */
    }
    return done;
}

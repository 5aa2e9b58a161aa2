/*
 * A batch is written in one transaction with a fixed number of statements, however many events it
 * has: rows go to the server as arrays, one per column, and unnest() makes them rows again.
 *
 * The transaction holds the rows of all sessions it writes to, so what it reads about a session
 * (where the logs of its agents end, for instance) stays true until it commits.
 */
#include "store/postgres/postgres_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "conversation/message.h"
#include "store/event_facts.h"
#include "store/postgres/postgres_text.h"

/* A session on the server, and what the batch adds to it. */
typedef struct {
    const char *id;
    bool deleted;
    bool touched; /* the batch adds something */
    int64_t turns;
    int64_t messages;
    int64_t updated_us;
    int64_t answered_us; /* time of the last answer; 0: none in this batch */
    const char *model;   /* of that answer; NULL: unchanged */
    const char *title;   /* NULL: unchanged */
    ik_usage_t usage;
    double cost;
} session_t;

/* An agent on the server; last_seq includes what the batch adds. */
typedef struct {
    const char *session_id;
    int64_t number;
    int64_t parent;
    int64_t forked_at;
    int64_t last_seq;
} agent_t;

typedef struct {
    void *scratch; /* owns everything below */
    ik_pq_link_t *link;
    const ik_store_batch_t *given;
    ik_pq_array_t ids;   /* of all sessions the batch names */
    session_t *sessions; /* sorted by id */
    size_t session_count;
    agent_t *agents; /* sorted by session and number */
    size_t agent_count;
} batch_t;

/* --- columns ----------------------------------------------------------------------------- */

/* One letter per column: t text, n number, r real. */
static void init_columns(const batch_t *batch, ik_pq_array_t *columns, const char *letters)
{
    for (size_t i = 0; letters[i] != '\0'; i++) {
        ik_pq_array_kind_t kind = letters[i] == 't'   ? IK_PQ_ARRAY_TEXT
                                  : letters[i] == 'n' ? IK_PQ_ARRAY_NUMBER
                                                      : IK_PQ_ARRAY_REAL;
        ik_pq_array_init(&columns[i], batch->scratch, kind);
    }
}

/* Runs a statement whose parameters are the columns. sql is static; rows may be NULL. */
static res_t run(const batch_t *batch, const char *sql, ik_pq_array_t *columns, size_t count,
                 ik_pq_rows_t **rows)
{
    ik_pq_params_t params;
    ik_pq_params_init(&params, batch->scratch);
    for (size_t i = 0; i < count; i++) {
        ik_pq_params_add_array(&params, &columns[i]);
    }
    return ik_pq_link_run_large(batch->scratch, batch->link, sql, &params, rows);
}

/* --- sessions ---------------------------------------------------------------------------- */

/* Adds the id to batch->ids, unless it is the one added last: ids come in runs. */
static res_t add_id(batch_t *batch, const char **last, const char *id)
{
    if (*last != NULL && strcmp(*last, id) == 0) {
        return OK;
    }
    if (strlen(id) != IK_STORE_ID_LEN || strspn(id, "0123456789abcdef") != IK_STORE_ID_LEN) {
        return ERR(INVALID, "'%.32s' is not a session id", id);
    }
    ik_pq_array_add_text(&batch->ids, id);
    *last = id;
    return OK;
}

static res_t collect_ids(batch_t *batch)
{
    const ik_store_batch_t *given = batch->given;
    const char *last = NULL;
    init_columns(batch, &batch->ids, "t");
    for (size_t i = 0; i < given->session_count; i++) {
        TRY(add_id(batch, &last, given->sessions[i].id));
    }
    for (size_t i = 0; i < given->agent_count; i++) {
        TRY(add_id(batch, &last, given->agents[i].session_id));
    }
    for (size_t i = 0; i < given->event_count; i++) {
        TRY(add_id(batch, &last, given->events[i].session_id));
    }
    return OK;
}

enum { QUEUES = 256, QUEUE_CLASS = 0x696b };

/* Sessions are spread over the queues by the last two digits of their ids. */
static size_t queue_of(const char *id)
{
    return strtoul(id + IK_STORE_ID_LEN - 2, NULL, 16);
}

/* Serialises writers of the same sessions with advisory locks, which every writer takes in
 * ascending order before anything else. Row locks alone would deadlock: of two writers, each may
 * hold a row that exists and wait for one that the other is inserting. */
static res_t queue_up(const batch_t *batch)
{
    static const char sql[] = "SELECT pg_advisory_xact_lock($2::integer, queue::integer)"
                              " FROM unnest($1::bigint[]) AS queue";
    const ik_store_batch_t *given = batch->given;
    bool wanted[QUEUES] = {false};
    ik_pq_array_t queues;
    ik_pq_params_t params;
    for (size_t i = 0; i < given->session_count; i++) {
        wanted[queue_of(given->sessions[i].id)] = true;
    }
    for (size_t i = 0; i < given->agent_count; i++) {
        wanted[queue_of(given->agents[i].session_id)] = true;
    }
    for (size_t i = 0; i < given->event_count; i++) {
        wanted[queue_of(given->events[i].session_id)] = true;
    }
    init_columns(batch, &queues, "n");
    for (size_t i = 0; i < QUEUES; i++) {
        if (wanted[i]) {
            ik_pq_array_add_number(&queues, (int64_t)i);
        }
    }
    ik_pq_params_init(&params, batch->scratch);
    ik_pq_params_add_array(&params, &queues);
    ik_pq_params_add_number(&params, QUEUE_CLASS);
    return ik_pq_link_run_large(batch->scratch, batch->link, sql, &params, NULL);
}

/* Reads the sessions that exist and locks their rows. */
static res_t hold_sessions(batch_t *batch)
{
    static const char sql[] = "SELECT id, deleted_at IS NOT NULL FROM ikigai.sessions"
                              " WHERE id = ANY($1::text[]) ORDER BY id FOR NO KEY UPDATE";
    ik_pq_rows_t *rows;
    TRY(run(batch, sql, &batch->ids, 1, &rows));
    batch->sessions = ik_new_array(batch->scratch, session_t, (size_t)rows->count);
    batch->session_count = (size_t)rows->count;
    for (int i = 0; i < rows->count; i++) {
        batch->sessions[i] = (session_t){.id = ik_pq_rows_text(rows, i, 0),
                                         .deleted = ik_pq_rows_bool(rows, i, 1),
                                         .usage = IK_USAGE_NONE,
                                         .cost = -1};
    }
    return OK;
}

static int compare_id_to_row(const void *id, const void *row)
{
    return strcmp(id, ((const session_t *)row)->id);
}

/* NULL when the server does not have it. */
static session_t *find_session(const batch_t *batch, const char *id)
{
    return bsearch(id, batch->sessions, batch->session_count, sizeof(*batch->sessions),
                   compare_id_to_row);
}

static res_t insert_sessions(batch_t *batch)
{
    /* In the order of ids: an INSERT waits for a concurrent INSERT of the same id. */
    static const char sql[] =
        "INSERT INTO ikigai.sessions(id, cwd, host, model, created_at, updated_at)"
        " SELECT id, cwd, host, model, created_at, created_at"
        " FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])"
        "   AS new(id, cwd, host, model, created_at)"
        " ORDER BY id ON CONFLICT (id) DO NOTHING";
    ik_pq_array_t columns[5];
    init_columns(batch, columns, "ttttn");
    for (size_t i = 0; i < batch->given->session_count; i++) {
        const ik_store_session_t *session = &batch->given->sessions[i];
        if (find_session(batch, session->id) != NULL) {
            continue;
        }
        const char *model = session->model == NULL ? "" : session->model;
        ik_pq_array_add_text(&columns[0], session->id);
        ik_pq_array_add_text(&columns[1], ik_postgres_text_clean(batch->scratch, session->cwd));
        ik_pq_array_add_text(&columns[2], ik_postgres_text_clean(batch->scratch, session->host));
        ik_pq_array_add_text(&columns[3], ik_postgres_text_clean(batch->scratch, model));
        ik_pq_array_add_number(&columns[4], session->created_us);
    }
    if (columns[0].count == 0) {
        return OK;
    }
    TRY(run(batch, sql, columns, 5, NULL));
    return hold_sessions(batch);
}

/* Finds a session to write to. *out is NULL when it was deleted: writes to it are dropped. */
static res_t require_session(const batch_t *batch, const char *id, session_t **out)
{
    session_t *session = find_session(batch, id);
    if (session == NULL) {
        return ERR(NOT_FOUND, "There is no session %s", id);
    }
    *out = session->deleted ? NULL : session;
    return OK;
}

/* --- agents ------------------------------------------------------------------------------ */

static res_t read_agents(batch_t *batch)
{
    static const char sql[] =
        "SELECT session_id, number, coalesce(parent, 0), forked_at,"
        " coalesce((SELECT max(seq) FROM ikigai.messages m"
        "   WHERE m.session_id = a.session_id AND m.agent = a.number), forked_at)"
        " FROM ikigai.agents a WHERE session_id = ANY($1::text[]) ORDER BY session_id, number";
    ik_pq_array_t ids;
    ik_pq_rows_t *rows;
    init_columns(batch, &ids, "t");
    for (size_t i = 0; i < batch->session_count; i++) {
        ik_pq_array_add_text(&ids, batch->sessions[i].id);
    }
    TRY(run(batch, sql, &ids, 1, &rows));
    batch->agents = ik_new_array(batch->scratch, agent_t, (size_t)rows->count);
    batch->agent_count = (size_t)rows->count;
    for (int i = 0; i < rows->count; i++) {
        batch->agents[i] = (agent_t){.session_id = ik_pq_rows_text(rows, i, 0),
                                     .number = ik_pq_rows_number(rows, i, 1, 0),
                                     .parent = ik_pq_rows_number(rows, i, 2, 0),
                                     .forked_at = ik_pq_rows_number(rows, i, 3, 0),
                                     .last_seq = ik_pq_rows_number(rows, i, 4, 0)};
    }
    return OK;
}

static int compare_agents(const void *a, const void *b)
{
    const agent_t *left = a;
    const agent_t *right = b;
    int order = strcmp(left->session_id, right->session_id);
    return order != 0 ? order : (left->number > right->number) - (left->number < right->number);
}

/* NULL when the server does not have it. */
static agent_t *find_agent(const batch_t *batch, const char *session_id, int64_t number)
{
    agent_t wanted = {.session_id = session_id, .number = number};
    return bsearch(&wanted, batch->agents, batch->agent_count, sizeof(*batch->agents),
                   compare_agents);
}

static res_t insert_agents(batch_t *batch)
{
    static const char sql[] =
        "INSERT INTO ikigai.agents(session_id, number, parent, forked_at, created_at)"
        " SELECT session_id, number, nullif(parent, 0), forked_at, created_at"
        " FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])"
        "   AS new(session_id, number, parent, forked_at, created_at)"
        " ON CONFLICT (session_id, number) DO NOTHING";
    ik_pq_array_t columns[5];
    init_columns(batch, columns, "tnnnn");
    for (size_t i = 0; i < batch->given->agent_count; i++) {
        const ik_store_agent_t *agent = &batch->given->agents[i];
        session_t *session = NULL;
        TRY(require_session(batch, agent->session_id, &session));
        if (session != NULL && find_agent(batch, agent->session_id, agent->number) == NULL) {
            ik_pq_array_add_text(&columns[0], agent->session_id);
            ik_pq_array_add_number(&columns[1], agent->number);
            ik_pq_array_add_number(&columns[2], agent->parent);
            ik_pq_array_add_number(&columns[3], agent->forked_at);
            ik_pq_array_add_number(&columns[4], agent->created_us);
        }
    }
    if (columns[0].count == 0) {
        return OK;
    }
    TRY(run(batch, sql, columns, 5, NULL));
    return read_agents(batch);
}

/* Runs after the insertion, so that it also compares agents that are in the batch twice. */
static res_t compare_given_agents(const batch_t *batch)
{
    for (size_t i = 0; i < batch->given->agent_count; i++) {
        const ik_store_agent_t *agent = &batch->given->agents[i];
        const agent_t *stored = find_agent(batch, agent->session_id, agent->number);
        if (stored != NULL &&
            (stored->parent != agent->parent || stored->forked_at != agent->forked_at)) {
            return ERR(CONFLICT, "%s: agent %" PRId64 " differs from the stored one",
                       agent->session_id, agent->number);
        }
    }
    return OK;
}

/* --- figures of sessions ----------------------------------------------------------------- */

enum { USAGE_COLUMNS = 10, SESSION_COLUMNS = 13 };

static void add_known(ik_pq_array_t *column, int64_t number)
{
    if (number == IK_USAGE_UNKNOWN) {
        ik_pq_array_add_null(column);
    } else {
        ik_pq_array_add_number(column, number);
    }
}

/* Fills six columns: the five figures and the cost. */
static void add_usage(ik_pq_array_t *columns, const ik_usage_t *usage, double cost)
{
    add_known(&columns[0], usage->in);
    add_known(&columns[1], usage->cached);
    add_known(&columns[2], usage->cache_write);
    add_known(&columns[3], usage->out);
    add_known(&columns[4], usage->reasoning);
    if (cost < 0) {
        ik_pq_array_add_null(&columns[5]);
    } else {
        ik_pq_array_add_real(&columns[5], cost);
    }
}

/* Adds what a new event says about its session. */
static void add_facts(const batch_t *batch, session_t *session, const ik_store_event_t *event,
                      ik_pq_array_t *usage)
{
    const double most = 1e12; /* the server refuses a sum that overflows */
    ik_event_facts_t facts = ik_event_facts(batch->scratch, event);
    facts.cost = facts.cost < most ? facts.cost : most;
    session->touched = true;
    session->messages += !ik_msg_kind_is_record(event->kind);
    session->turns += facts.user;
    /* The title comes from the root agent; agents may be copied in any order. */
    if (session->title == NULL && event->agent == IK_STORE_ROOT_AGENT) {
        session->title = facts.title;
    }
    if ((facts.user || facts.answer) && event->created_us > session->updated_us) {
        session->updated_us = event->created_us;
    }
    if (!facts.answer) {
        return;
    }
    if (event->created_us >= session->answered_us) {
        session->answered_us = event->created_us;
        session->model = facts.model == NULL ? session->model : facts.model;
    }
    ik_usage_add(&session->usage, &facts.usage);
    if (facts.cost >= 0) {
        session->cost = facts.cost + (session->cost < 0 ? 0 : session->cost);
    }
    ik_pq_array_add_text(&usage[0], event->session_id);
    ik_pq_array_add_number(&usage[1], event->agent);
    ik_pq_array_add_number(&usage[2], event->seq);
    ik_pq_array_add_text(&usage[3], facts.model == NULL ? "" : facts.model);
    add_usage(&usage[4], &facts.usage, facts.cost);
}

static res_t update_sessions(const batch_t *batch)
{
    /* coalesce: a sum is unknown only when both parts are. */
    static const char sql[] =
        "UPDATE ikigai.sessions s SET turns = s.turns + a.turns,"
        " messages = s.messages + a.messages, updated_at = greatest(s.updated_at, a.updated_at),"
        " model = CASE WHEN a.answered_at >= coalesce(s.answered_at, 0)"
        " THEN coalesce(a.model, s.model) ELSE s.model END,"
        " answered_at = greatest(s.answered_at, a.answered_at),"
        " title = CASE WHEN s.title = '' THEN coalesce(a.title, '') ELSE s.title END,"
        " tokens_in = coalesce(s.tokens_in + a.tokens_in, s.tokens_in, a.tokens_in),"
        " tokens_cached = coalesce(s.tokens_cached + a.tokens_cached,"
        " s.tokens_cached, a.tokens_cached),"
        " tokens_cache_write = coalesce(s.tokens_cache_write + a.tokens_cache_write,"
        " s.tokens_cache_write, a.tokens_cache_write),"
        " tokens_out = coalesce(s.tokens_out + a.tokens_out, s.tokens_out, a.tokens_out),"
        " tokens_reasoning = coalesce(s.tokens_reasoning + a.tokens_reasoning,"
        " s.tokens_reasoning, a.tokens_reasoning),"
        " cost = coalesce(s.cost + a.cost, s.cost, a.cost)"
        " FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[],"
        " $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::float8[],"
        " $13::bigint[]) AS a(id, turns, messages, updated_at, model, title, tokens_in,"
        " tokens_cached, tokens_cache_write, tokens_out, tokens_reasoning, cost, answered_at)"
        " WHERE s.id = a.id";
    ik_pq_array_t columns[SESSION_COLUMNS];
    init_columns(batch, columns, "tnnnttnnnnnrn");
    for (size_t i = 0; i < batch->session_count; i++) {
        const session_t *session = &batch->sessions[i];
        if (session->touched) {
            ik_pq_array_add_text(&columns[0], session->id);
            ik_pq_array_add_number(&columns[1], session->turns);
            ik_pq_array_add_number(&columns[2], session->messages);
            ik_pq_array_add_number(&columns[3], session->updated_us);
            ik_pq_array_add_text(&columns[4], session->model);
            ik_pq_array_add_text(&columns[5], session->title);
            add_usage(&columns[6], &session->usage, session->cost);
            ik_pq_array_add_number(&columns[12], session->answered_us);
        }
    }
    return columns[0].count == 0 ? OK : run(batch, sql, columns, SESSION_COLUMNS, NULL);
}

/* --- events ------------------------------------------------------------------------------ */

/* The last two columns are derived from the event: data and words. */
enum { EVENT_COLUMNS = 9, COMPARED_COLUMNS = 7, CHUNK_EVENTS = 5000, CHUNK_BYTES = 4 << 20 };

/* Events that are collected and not sent yet. */
typedef struct {
    ik_pq_array_t added[EVENT_COLUMNS]; /* to be inserted */
    ik_pq_array_t known[EVENT_COLUMNS]; /* on the server already, to be compared */
    ik_pq_array_t usage[USAGE_COLUMNS]; /* of the added ones */
} chunk_t;

static void init_chunk(const batch_t *batch, chunk_t *chunk)
{
    init_columns(batch, chunk->added, "tnntttntt");
    init_columns(batch, chunk->known, "tnntttntt");
    init_columns(batch, chunk->usage, "tnntnnnnnr");
}

static bool is_full(const ik_pq_array_t *columns)
{
    return columns[0].count >= CHUNK_EVENTS ||
           columns[4].elements.len + columns[5].elements.len >= CHUNK_BYTES;
}

static void add_event(ik_pq_array_t *columns, const ik_store_event_t *event)
{
    ik_pq_array_add_text(&columns[0], event->session_id);
    ik_pq_array_add_number(&columns[1], event->agent);
    ik_pq_array_add_number(&columns[2], event->seq);
    ik_pq_array_add_text(&columns[3], event->kind);
    ik_pq_array_add_text(&columns[4], event->content);
    ik_pq_array_add_text(&columns[5], event->data_json);
    ik_pq_array_add_number(&columns[6], event->created_us);
}

/* Fails when an event of the columns differs from the one on the server. */
static res_t compare_events(const batch_t *batch, ik_pq_array_t *columns)
{
    static const char sql[] =
        "SELECT session_id, agent, seq FROM unnest($1::text[], $2::bigint[], $3::bigint[],"
        " $4::text[], $5::text[], $6::text[], $7::bigint[])"
        " AS new(session_id, agent, seq, kind, content, data_json, created_at)"
        " JOIN ikigai.messages m USING (session_id, agent, seq) WHERE (m.kind, m.content,"
        " m.data_json, m.created_at) IS DISTINCT FROM (new.kind, new.content, new.data_json,"
        " new.created_at) LIMIT 1";
    ik_pq_rows_t *rows;
    if (columns[0].count == 0) {
        return OK;
    }
    TRY(run(batch, sql, columns, COMPARED_COLUMNS, &rows));
    return rows->count == 0 ? OK
                            : ERR(CONFLICT, "%s: event %s of agent %s differs from the stored one",
                                  ik_pq_rows_text(rows, 0, 0), ik_pq_rows_text(rows, 0, 2),
                                  ik_pq_rows_text(rows, 0, 1));
}

/* Inserts before it compares, so that it also compares events that are in the batch twice. */
static res_t flush(const batch_t *batch, chunk_t *chunk)
{
    static const char insert_events[] =
        "INSERT INTO ikigai.messages(session_id, agent, seq, kind, content, data_json, created_at,"
        " data, words)"
        " SELECT session_id, agent, seq, kind, content, data_json, created_at, data::jsonb,"
        " words::tsvector FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[],"
        " $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[])"
        " AS new(session_id, agent, seq, kind, content, data_json, created_at, data, words)";
    static const char insert_usage[] =
        "INSERT INTO ikigai.usage(session_id, agent, seq, model, tokens_in, tokens_cached,"
        " tokens_cache_write, tokens_out, tokens_reasoning, cost)"
        " SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[],"
        " $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::float8[])";
    if (chunk->added[0].count > 0) {
        TRY(run(batch, insert_events, chunk->added, EVENT_COLUMNS, NULL));
    }
    TRY(compare_events(batch, chunk->known));
    if (chunk->usage[0].count > 0) {
        TRY(run(batch, insert_usage, chunk->usage, USAGE_COLUMNS, NULL));
    }
    init_chunk(batch, chunk);
    return OK;
}

static res_t write_event(const batch_t *batch, const ik_store_event_t *given, chunk_t *chunk)
{
    session_t *session = NULL;
    TRY(require_session(batch, given->session_id, &session));
    if (session == NULL) {
        return OK;
    }
    agent_t *agent = find_agent(batch, given->session_id, given->agent);
    if (agent == NULL) {
        return ERR(NOT_FOUND, "Session %s has no agent %" PRId64, given->session_id, given->agent);
    }
    if (given->seq <= agent->forked_at || given->seq > agent->last_seq + 1) {
        return ERR(INVALID, "%s: event %" PRId64 " of agent %" PRId64 " is not the next, %" PRId64,
                   given->session_id, given->seq, given->agent, agent->last_seq + 1);
    }
    void *scratch = talloc_new(batch->scratch);
    ik_store_event_t event = *given;
    event.kind = ik_postgres_text_clean(scratch, given->kind);
    event.content = ik_postgres_text_clean(scratch, given->content);
    event.data_json = ik_postgres_text_clean(scratch, given->data_json);
    if (event.seq <= agent->last_seq) {
        add_event(chunk->known, &event);
    } else {
        agent->last_seq = event.seq;
        add_event(chunk->added, &event);
        ik_pq_array_add_text(&chunk->added[7],
                             ik_postgres_text_format_data(scratch, event.data_json));
        ik_pq_array_add_text(&chunk->added[8], ik_postgres_text_format_words(scratch, &event));
        add_facts(batch, session, &event, chunk->usage);
    }
    talloc_free(scratch);
    return is_full(chunk->added) || is_full(chunk->known) ? flush(batch, chunk) : OK;
}

/* --- the batch --------------------------------------------------------------------------- */

static res_t write_batch(void *data)
{
    batch_t *batch = data;
    chunk_t chunk;
    TRY(collect_ids(batch));
    TRY(queue_up(batch));
    TRY(hold_sessions(batch));
    TRY(insert_sessions(batch));
    TRY(read_agents(batch));
    TRY(insert_agents(batch));
    TRY(compare_given_agents(batch));
    if (batch->given->event_count == 0) {
        return OK;
    }
    init_chunk(batch, &chunk);
    for (size_t i = 0; i < batch->given->event_count; i++) {
        TRY(write_event(batch, &batch->given->events[i], &chunk));
    }
    TRY(flush(batch, &chunk));
    return update_sessions(batch);
}

res_t ik_postgres_write(ik_pq_link_t *link, const ik_store_batch_t *given)
{
    if (given->session_count + given->agent_count + given->event_count == 0) {
        return OK;
    }
    batch_t batch = {.scratch = talloc_new(NULL), .link = link, .given = given};
    res_t written = ik_pq_link_transact(link, write_batch, &batch);
    talloc_free(batch.scratch);
    return written;
}

#include "store/postgres/postgres_write.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "store/event_facts.h"
#include "store/postgres/postgres_batch.h"
#include "store/postgres/postgres_data.h"
#include "store/postgres/postgres_text.h"
#include "store/postgres/postgres_words.h"

/* --- figures ----------------------------------------------------------------------------- */

enum { USAGE_COLUMNS = 10, SESSION_COLUMNS = 13 };

/* What is beyond any bill is cut: the server refuses a sum that overflows. */
static ik_event_facts_t sane_facts(const ik_postgres_batch_t *batch, const ik_store_event_t *event)
{
    const double most = 1e12;
    ik_event_facts_t facts = ik_event_facts(batch->scratch, event);
    facts.cost = facts.cost < most ? facts.cost : most;
    return facts;
}

static void add_known(ik_pq_array_t *column, int64_t number)
{
    if (number == IK_USAGE_UNKNOWN) {
        ik_pq_array_add_null(column);
    } else {
        ik_pq_array_add_number(column, number);
    }
}

/* The five figures and the cost, as six columns. */
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

/* What an event that was not there before says about its session. */
static void add_facts(const ik_postgres_batch_t *batch, ik_postgres_session_t *session,
                      const ik_store_event_t *event, ik_pq_array_t *usage)
{
    ik_event_facts_t facts = sane_facts(batch, event);
    session->touched = true;
    session->messages++;
    session->turns += facts.user;
    /* Of the first agent: agents may be copied in any order. */
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

static res_t insert_usage(const ik_postgres_batch_t *batch, ik_pq_array_t *columns)
{
    static const char sql[] =
        "INSERT INTO ikigai.usage(session_id, agent, seq, model, tokens_in, tokens_cached,"
        " tokens_cache_write, tokens_out, tokens_reasoning, cost)"
        " SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[],"
        " $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::float8[])";
    return columns[0].count == 0 ? OK
                                 : ik_postgres_batch_run(batch, sql, columns, USAGE_COLUMNS, NULL);
}

/* A sum of nothing known stays unknown. */
static res_t update_sessions(const ik_postgres_batch_t *batch)
{
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
        " $13::bigint[]) AS a(id, turns, messages, updated_at, model, title, tokens_in, "
        "tokens_cached,"
        " tokens_cache_write, tokens_out, tokens_reasoning, cost, answered_at) WHERE s.id = a.id";
    ik_pq_array_t columns[SESSION_COLUMNS];
    ik_postgres_batch_init(batch, columns, "tnnnttnnnnnrn");
    for (size_t i = 0; i < batch->session_count; i++) {
        const ik_postgres_session_t *row = &batch->sessions[i];
        if (row->touched) {
            ik_pq_array_add_text(&columns[0], row->id);
            ik_pq_array_add_number(&columns[1], row->turns);
            ik_pq_array_add_number(&columns[2], row->messages);
            ik_pq_array_add_number(&columns[3], row->updated_us);
            ik_pq_array_add_text(&columns[4], row->model);
            ik_pq_array_add_text(&columns[5], row->title);
            add_usage(&columns[6], &row->usage, row->cost);
            ik_pq_array_add_number(&columns[12], row->answered_us);
        }
    }
    return columns[0].count == 0
               ? OK
               : ik_postgres_batch_run(batch, sql, columns, SESSION_COLUMNS, NULL);
}

/* --- events ------------------------------------------------------------------------------ */

enum { EVENT_COLUMNS = 9, CHUNK_EVENTS = 5000, CHUNK_BYTES = 4 << 20 };

static const char event_kinds[] = "tnntttntt";

/* The first seven are what an event is, the last two are made of it. */
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

static ik_store_event_t clean_event(const void *ctx, const ik_store_event_t *event)
{
    ik_store_event_t copy = *event;
    copy.kind = ik_postgres_text_clean(ctx, event->kind);
    copy.content = ik_postgres_text_clean(ctx, event->content);
    copy.data_json = ik_postgres_text_clean(ctx, event->data_json);
    return copy;
}

static res_t insert_chunk(const ik_postgres_batch_t *batch, ik_pq_array_t *columns)
{
    static const char sql[] =
        "INSERT INTO ikigai.messages(session_id, agent, seq, kind, content, data_json, created_at,"
        " data, words)"
        " SELECT session_id, agent, seq, kind, content, data_json, created_at, data::jsonb,"
        " words::tsvector FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[],"
        " $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[])"
        " AS new(session_id, agent, seq, kind, content, data_json, created_at, data, words)";
    return columns[0].count == 0 ? OK
                                 : ik_postgres_batch_run(batch, sql, columns, EVENT_COLUMNS, NULL);
}

/* The first event of those in the columns that is there in another form. */
static res_t compare_chunk(const ik_postgres_batch_t *batch, ik_pq_array_t *columns)
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
    TRY(ik_postgres_batch_run(batch, sql, columns, EVENT_COLUMNS - 2, &rows));
    return rows->count == 0 ? OK
                            : ERR(CONFLICT, "%s: event %s of agent %s is another one",
                                  ik_pq_rows_text(rows, 0, 0), ik_pq_rows_text(rows, 0, 2),
                                  ik_pq_rows_text(rows, 0, 1));
}

/* Events on their way: those that are new, and those that are there and must be the same. */
typedef struct {
    ik_pq_array_t added[EVENT_COLUMNS];
    ik_pq_array_t known[EVENT_COLUMNS];
    ik_pq_array_t usage[USAGE_COLUMNS];
} events_t;

static void init_events(const ik_postgres_batch_t *batch, events_t *events)
{
    ik_postgres_batch_init(batch, events->added, event_kinds);
    ik_postgres_batch_init(batch, events->known, event_kinds);
    ik_postgres_batch_init(batch, events->usage, "tnntnnnnnr");
}

/* New ones first: one that is twice in the batch is compared with itself then. */
static res_t flush_events(const ik_postgres_batch_t *batch, events_t *events)
{
    TRY(insert_chunk(batch, events->added));
    TRY(compare_chunk(batch, events->known));
    TRY(insert_usage(batch, events->usage));
    init_events(batch, events);
    return OK;
}

static res_t check_place(const ik_postgres_agent_t *agent, const ik_store_event_t *event)
{
    if (event->seq <= agent->forked_at || event->seq > agent->last_seq + 1) {
        return ERR(INVALID, "%s: event %" PRId64 " of agent %" PRId64 " is not the next, %" PRId64,
                   event->session_id, event->seq, event->agent, agent->last_seq + 1);
    }
    return OK;
}

/* Takes an event that belongs where it says. */
static void take_event(const ik_postgres_batch_t *batch, ik_postgres_session_t *session,
                       ik_postgres_agent_t *agent, const ik_store_event_t *given, events_t *events)
{
    void *made = talloc_new(batch->scratch);
    ik_store_event_t event = clean_event(made, given);
    if (event.seq <= agent->last_seq) {
        add_event(events->known, &event);
    } else {
        agent->last_seq = event.seq;
        add_event(events->added, &event);
        ik_pq_array_add_text(&events->added[7], ik_postgres_data_format(made, event.data_json));
        ik_pq_array_add_text(&events->added[8], ik_postgres_words_format(made, &event));
        add_facts(batch, session, &event, events->usage);
    }
    talloc_free(made);
}

static bool is_full(const ik_pq_array_t *columns)
{
    return columns[0].count >= CHUNK_EVENTS ||
           columns[4].elements.len + columns[5].elements.len >= CHUNK_BYTES;
}

static res_t write_event(const ik_postgres_batch_t *batch, const ik_store_event_t *event,
                         events_t *events)
{
    ik_postgres_session_t *session = NULL;
    TRY(ik_postgres_batch_session(batch, event->session_id, &session));
    if (session == NULL) {
        return OK;
    }
    ik_postgres_agent_t *agent = ik_postgres_batch_agent(batch, event->session_id, event->agent);
    if (agent == NULL) {
        return ERR(NOT_FOUND, "Session %s has no agent %" PRId64, event->session_id, event->agent);
    }
    TRY(check_place(agent, event));
    take_event(batch, session, agent, event, events);
    return is_full(events->added) || is_full(events->known) ? flush_events(batch, events) : OK;
}

static res_t write_events(const ik_postgres_batch_t *batch)
{
    events_t events;
    init_events(batch, &events);
    for (size_t i = 0; i < batch->given->event_count; i++) {
        TRY(write_event(batch, &batch->given->events[i], &events));
    }
    TRY(flush_events(batch, &events));
    return update_sessions(batch);
}

/* --- a batch ----------------------------------------------------------------------------- */

static res_t write_batch(void *data)
{
    ik_postgres_batch_t *batch = data;
    TRY(ik_postgres_batch_begin(batch));
    return batch->given->event_count == 0 ? OK : write_events(batch);
}

res_t ik_postgres_write(ik_pq_link_t *link, const ik_store_batch_t *given)
{
    if (given->session_count + given->agent_count + given->event_count == 0) {
        return OK;
    }
    ik_postgres_batch_t batch = {.scratch = talloc_new(NULL), .link = link, .given = given};
    res_t written = ik_pq_link_transact(link, write_batch, &batch);
    talloc_free(batch.scratch);
    return written;
}

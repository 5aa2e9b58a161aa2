#include "store/postgres/postgres_read.h"

#include "base/alloc.h"
#include "store/postgres/postgres_text.h"
#include "store/words/event_text.h"
#include "store/words/word_snippet.h"

/* --- sessions ---------------------------------------------------------------------------- */

#define SELECT_SESSIONS                                                                            \
    "SELECT id, cwd, host, model, title, created_at, updated_at, turns, messages, tokens_in,"      \
    " tokens_cached, tokens_cache_write, tokens_out, tokens_reasoning, cost"                       \
    " FROM ikigai.sessions WHERE deleted_at IS NULL AND "

static const char *copy_text(const void *ctx, const ik_pq_rows_t *rows, int row, int column)
{
    return ik_strdup(ctx, ik_pq_rows_text(rows, row, column));
}

static ik_store_session_t read_session(const void *ctx, const ik_pq_rows_t *rows, int row)
{
    return (ik_store_session_t){
        .id = copy_text(ctx, rows, row, 0),
        .cwd = copy_text(ctx, rows, row, 1),
        .host = copy_text(ctx, rows, row, 2),
        .model = copy_text(ctx, rows, row, 3),
        .title = copy_text(ctx, rows, row, 4),
        .created_us = ik_pq_rows_number(rows, row, 5, 0),
        .updated_us = ik_pq_rows_number(rows, row, 6, 0),
        .turns = ik_pq_rows_number(rows, row, 7, 0),
        .messages = ik_pq_rows_number(rows, row, 8, 0),
        .usage = {.in = ik_pq_rows_number(rows, row, 9, IK_USAGE_UNKNOWN),
                  .cached = ik_pq_rows_number(rows, row, 10, IK_USAGE_UNKNOWN),
                  .cache_write = ik_pq_rows_number(rows, row, 11, IK_USAGE_UNKNOWN),
                  .out = ik_pq_rows_number(rows, row, 12, IK_USAGE_UNKNOWN),
                  .reasoning = ik_pq_rows_number(rows, row, 13, IK_USAGE_UNKNOWN)},
        .cost = ik_pq_rows_real(rows, row, 14, -1),
    };
}

static res_t read_sessions(const void *ctx, ik_pq_link_t *link, const char *sql,
                           const ik_pq_params_t *params, ik_store_list_t **out)
{
    ik_pq_rows_t *rows;
    TRY(ik_pq_link_run(params->ctx, link, sql, params, &rows));
    ik_store_list_t *list = ik_new(ctx, ik_store_list_t);
    list->count = (size_t)rows->count;
    list->sessions = ik_new_array(list, ik_store_session_t, list->count);
    for (int i = 0; i < rows->count; i++) {
        list->sessions[i] = read_session(list, rows, i);
    }
    *out = list;
    return OK;
}

res_t ik_postgres_read_list(const void *ctx, ik_pq_link_t *link, const ik_store_filter_t *filter,
                            ik_store_list_t **out)
{
    static const char sql[] = SELECT_SESSIONS "($1::text IS NULL OR cwd = $1)"
                                              " ORDER BY updated_at DESC, created_at DESC, id"
                                              " LIMIT nullif($2::bigint, 0)";
    void *scratch = talloc_new(NULL);
    ik_pq_params_t params;
    ik_pq_params_init(&params, scratch);
    ik_pq_params_add_text(&params, ik_postgres_text_clean(scratch, filter->cwd));
    ik_pq_params_add_number(&params, (int64_t)filter->limit);
    res_t read = read_sessions(ctx, link, sql, &params, out);
    talloc_free(scratch);
    return read;
}

/* Ids are hexadecimal, so those with the prefix lie between it and the prefix with a "g". */
res_t ik_postgres_read_prefix(const void *ctx, ik_pq_link_t *link, const char *prefix,
                              ik_store_list_t **out)
{
    static const char sql[] = SELECT_SESSIONS "id >= $1::text AND id < $1::text || 'g'"
                                              " ORDER BY updated_at DESC, id LIMIT 10";
    void *scratch = talloc_new(NULL);
    ik_pq_params_t params;
    ik_pq_params_init(&params, scratch);
    ik_pq_params_add_text(&params, ik_postgres_text_clean(scratch, prefix));
    res_t read = read_sessions(ctx, link, sql, &params, out);
    talloc_free(scratch);
    return read;
}

/* --- agents ------------------------------------------------------------------------------ */

static res_t read_agents(const void *ctx, ik_pq_link_t *link, const ik_pq_params_t *params,
                         const char *session_id, ik_store_agents_t **out)
{
    static const char sql[] = "SELECT number, coalesce(parent, 0), forked_at, created_at,"
                              " coalesce((SELECT max(seq) FROM ikigai.messages m WHERE"
                              " m.session_id = a.session_id AND m.agent = a.number), forked_at),"
                              " coalesce((SELECT m.created_at FROM ikigai.messages m WHERE"
                              " m.session_id = a.session_id AND m.agent = a.number"
                              " ORDER BY seq DESC LIMIT 1), created_at)"
                              " FROM ikigai.agents a WHERE session_id = $1 ORDER BY number";
    ik_pq_rows_t *rows;
    TRY(ik_pq_link_run(params->ctx, link, sql, params, &rows));
    ik_store_agents_t *agents = ik_new(ctx, ik_store_agents_t);
    const char *id = ik_strdup(agents, session_id);
    agents->count = (size_t)rows->count;
    agents->agents = ik_new_array(agents, ik_store_agent_t, agents->count);
    for (int i = 0; i < rows->count; i++) {
        agents->agents[i] = (ik_store_agent_t){.session_id = id,
                                               .number = ik_pq_rows_number(rows, i, 0, 0),
                                               .parent = ik_pq_rows_number(rows, i, 1, 0),
                                               .forked_at = ik_pq_rows_number(rows, i, 2, 0),
                                               .created_us = ik_pq_rows_number(rows, i, 3, 0),
                                               .last_seq = ik_pq_rows_number(rows, i, 4, 0),
                                               .updated_us = ik_pq_rows_number(rows, i, 5, 0)};
    }
    *out = agents;
    return OK;
}

res_t ik_postgres_read_agents(const void *ctx, ik_pq_link_t *link, const char *session_id,
                              ik_store_agents_t **out)
{
    void *scratch = talloc_new(NULL);
    ik_pq_params_t params;
    ik_pq_params_init(&params, scratch);
    ik_pq_params_add_text(&params, ik_postgres_text_clean(scratch, session_id));
    res_t read = read_agents(ctx, link, &params, session_id, out);
    talloc_free(scratch);
    return read;
}

/* --- events ------------------------------------------------------------------------------ */

/* A log is read in pieces of at most this many events, or as many as exceed this many bytes, so
 * that the longest log takes no more memory. */
#define PIECE_EVENTS "1000"
#define PIECE_BYTES "1048576"

/* Reads the piece after event->seq, which advances. The callback may use the connection: all rows
 * are received before it is called. */
static res_t read_piece(const void *ctx, ik_pq_link_t *link, ik_store_event_t *event,
                        ik_store_event_fn on_event, void *data, bool *more)
{
    static const char sql[] =
        "SELECT seq, kind, content, data_json, created_at FROM (SELECT *, sum(size) OVER"
        " (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before"
        " FROM (SELECT *, coalesce(octet_length(content), 0) + coalesce(octet_length(data_json), 0)"
        " AS size FROM ikigai.messages WHERE session_id = $1 AND agent = $2 AND seq > $3"
        " ORDER BY seq LIMIT " PIECE_EVENTS ") AS next) AS measured"
        " WHERE coalesce(before, 0) < " PIECE_BYTES " ORDER BY seq";
    ik_pq_params_t params;
    ik_pq_rows_t *rows;
    ik_pq_params_init(&params, ctx);
    ik_pq_params_add_text(&params, ik_postgres_text_clean(ctx, event->session_id));
    ik_pq_params_add_number(&params, event->agent);
    ik_pq_params_add_number(&params, event->seq);
    TRY(ik_pq_link_run(ctx, link, sql, &params, &rows));
    for (int i = 0; i < rows->count; i++) {
        event->seq = ik_pq_rows_number(rows, i, 0, 0);
        event->kind = ik_pq_rows_text(rows, i, 1);
        event->content = ik_pq_rows_text(rows, i, 2);
        event->data_json = ik_pq_rows_text(rows, i, 3);
        event->created_us = ik_pq_rows_number(rows, i, 4, 0);
        TRY(on_event(data, event));
    }
    *more = rows->count > 0;
    return OK;
}

res_t ik_postgres_read_events(ik_pq_link_t *link, const ik_store_agent_t *agent, int64_t after,
                              ik_store_event_fn on_event, void *data)
{
    ik_store_event_t event = {
        .session_id = agent->session_id, .agent = agent->number, .seq = after};
    res_t read = OK;
    for (bool more = true; more && is_ok(&read);) {
        void *scratch = talloc_new(NULL);
        read = read_piece(scratch, link, &event, on_event, data, &more);
        talloc_free(scratch);
    }
    return read;
}

/* --- search ------------------------------------------------------------------------------ */

enum { SNIPPET_MAX = 200 };

static ik_store_snippet_t make_snippet(const void *ctx, const ik_word_query_t *query,
                                       const ik_store_event_t *event)
{
    ik_buffer_t text;
    ik_buffer_init(&text, NULL, IK_EVENT_TEXT_MAX);
    ik_event_text_append(&text, event);
    ik_store_snippet_t snippet = ik_word_snippet_create(
        ctx, query, text.data == NULL ? "" : text.data, text.len, SNIPPET_MAX);
    ik_buffer_reset(&text);
    return snippet;
}

static ik_store_hit_t read_hit(const void *ctx, const ik_word_query_t *query,
                               const ik_pq_rows_t *rows, int row)
{
    ik_store_event_t event = {.session_id = ik_pq_rows_text(rows, row, 0),
                              .agent = ik_pq_rows_number(rows, row, 1, 0),
                              .seq = ik_pq_rows_number(rows, row, 2, 0),
                              .created_us = ik_pq_rows_number(rows, row, 3, 0),
                              .kind = ik_pq_rows_text(rows, row, 4),
                              .content = ik_pq_rows_text(rows, row, 5),
                              .data_json = ik_pq_rows_text(rows, row, 6)};
    return (ik_store_hit_t){.session_id = ik_strdup(ctx, event.session_id),
                            .title = ik_strdup(ctx, ik_pq_rows_text(rows, row, 7)),
                            .cwd = ik_strdup(ctx, ik_pq_rows_text(rows, row, 8)),
                            .agent = event.agent,
                            .seq = event.seq,
                            .created_us = event.created_us,
                            .kind = ik_strdup(ctx, event.kind),
                            .snippet = make_snippet(ctx, query, &event)};
}

static res_t read_hits(const void *ctx, ik_pq_link_t *link, const ik_pq_params_t *params,
                       const ik_word_query_t *query, ik_store_hits_t **out)
{
    /* Ranking needs only the words; the texts are read for the hits that are returned. */
    static const char sql[] =
        "SELECT m.session_id, m.agent, m.seq, m.created_at, m.kind, m.content, m.data_json, "
        "s.title,"
        " s.cwd FROM (SELECT session_id, agent, seq, ts_rank(words, $1::tsquery) AS rank FROM"
        "   (SELECT session_id, agent, seq, created_at, words FROM ikigai.messages"
        "     WHERE words @@ $1::tsquery AND ($2::text IS NULL OR session_id = $2)"
        "     ORDER BY created_at DESC LIMIT 2000) AS newest"
        "   ORDER BY rank DESC, created_at DESC LIMIT nullif($3::bigint, 0)) AS best"
        " JOIN ikigai.messages m USING (session_id, agent, seq)"
        " JOIN ikigai.sessions s ON s.id = m.session_id"
        " ORDER BY best.rank DESC, m.created_at DESC, m.session_id, m.agent, m.seq";
    ik_pq_rows_t *rows;
    TRY(ik_pq_link_run(params->ctx, link, sql, params, &rows));
    ik_store_hits_t *hits = ik_new(ctx, ik_store_hits_t);
    hits->count = (size_t)rows->count;
    hits->hits = ik_new_array(hits, ik_store_hit_t, hits->count);
    for (int i = 0; i < rows->count; i++) {
        hits->hits[i] = read_hit(hits, query, rows, i);
    }
    *out = hits;
    return OK;
}

res_t ik_postgres_read_hits(const void *ctx, ik_pq_link_t *link, const ik_store_search_t *search,
                            const ik_word_query_t *query, ik_store_hits_t **out)
{
    void *scratch = talloc_new(NULL);
    ik_pq_params_t params;
    ik_pq_params_init(&params, scratch);
    ik_pq_params_add_text(&params, ik_word_query_format_tsquery(scratch, query));
    ik_pq_params_add_text(&params, ik_postgres_text_clean(scratch, search->session_id));
    ik_pq_params_add_number(&params, (int64_t)search->limit);
    res_t found = read_hits(ctx, link, &params, query, out);
    talloc_free(scratch);
    return found;
}

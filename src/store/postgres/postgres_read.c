#include "store/postgres/postgres_read.h"

#include "base/alloc.h"
#include "store/postgres/postgres_text.h"

/* --- sessions ---------------------------------------------------------------------------- */

#define SELECT_SESSIONS                                                                            \
    "SELECT id, cwd, host, model, title, created_at, updated_at, turns, messages, tokens_in,"      \
    " tokens_cached, tokens_cache_write, tokens_out, tokens_reasoning, cost"                       \
    " FROM ikigai.sessions WHERE deleted_at IS NULL AND "

/* The rows may go then. */
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

/* Ids are hexadecimal, so that what begins so lies between the prefix and the prefix with a g. */
res_t ik_postgres_read_beginning(const void *ctx, ik_pq_link_t *link, const char *prefix,
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

/* A piece of a log ends behind so many events, or behind the one with which so many bytes are
 * reached: then the longest log takes no more memory than that. */
#define PIECE_EVENTS "1000"
#define PIECE_BYTES "1048576"

static res_t hand_out(const ik_pq_rows_t *rows, int row, ik_store_event_t *event,
                      ik_store_event_fn on_event, void *data)
{
    event->seq = ik_pq_rows_number(rows, row, 0, 0);
    event->kind = ik_pq_rows_text(rows, row, 1);
    event->content = ik_pq_rows_text(rows, row, 2);
    event->data_json = ik_pq_rows_text(rows, row, 3);
    event->created_us = ik_pq_rows_number(rows, row, 4, 0);
    return on_event(data, event);
}

/* The next piece behind event->seq, which moves on. The callback may use the store: between pieces
 * nothing is open. */
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
        TRY(hand_out(rows, i, event, on_event, data));
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

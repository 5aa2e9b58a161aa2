#include "store/postgres/postgres_search.h"

#include "base/alloc.h"
#include "store/postgres/postgres_text.h"
#include "store/words/event_text.h"
#include "store/words/word_snippet.h"

enum { SNIPPET_MAX = 200 };

/* The texts are fetched for what is shown only: a rank needs the words alone. */
static const char sql[] =
    "SELECT m.session_id, m.agent, m.seq, m.created_at, m.kind, m.content, m.data_json, s.title,"
    " s.cwd FROM (SELECT session_id, agent, seq, ts_rank(words, $1::tsquery) AS rank FROM"
    "   (SELECT session_id, agent, seq, created_at, words FROM ikigai.messages"
    "     WHERE words @@ $1::tsquery AND ($2::text IS NULL OR session_id = $2)"
    "     ORDER BY created_at DESC LIMIT 2000) AS newest"
    "   ORDER BY rank DESC, created_at DESC LIMIT nullif($3::bigint, 0)) AS best"
    " JOIN ikigai.messages m USING (session_id, agent, seq)"
    " JOIN ikigai.sessions s ON s.id = m.session_id"
    " ORDER BY best.rank DESC, m.created_at DESC, m.session_id, m.agent, m.seq";

static ik_store_snippet_t make_snippet(const void *ctx, const ik_word_query_t *query,
                                       const ik_store_event_t *event)
{
    ik_buffer_t text;
    ik_buffer_init(&text, NULL, IK_BUFFER_UNLIMITED);
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

static res_t find(const void *ctx, ik_pq_link_t *link, const ik_pq_params_t *params,
                  const ik_word_query_t *query, ik_store_hits_t **out)
{
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

res_t ik_postgres_search(const void *ctx, ik_pq_link_t *link, const ik_store_search_t *search,
                         const ik_word_query_t *query, ik_store_hits_t **out)
{
    void *scratch = talloc_new(NULL);
    ik_pq_params_t params;
    ik_pq_params_init(&params, scratch);
    ik_pq_params_add_text(&params, ik_word_query_format_tsquery(scratch, query));
    ik_pq_params_add_text(&params, ik_postgres_text_clean(scratch, search->session_id));
    ik_pq_params_add_number(&params, (int64_t)search->limit);
    res_t found = find(ctx, link, &params, query, out);
    talloc_free(scratch);
    return found;
}

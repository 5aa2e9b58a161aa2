#include "store/postgres/postgres_remove.h"

#include "base/alloc.h"
#include "store/postgres/postgres_text.h"

typedef struct {
    void *scratch;
    ik_pq_link_t *link;
    const char *session_id;
    ik_pq_params_t params;
} removal_t;

/* First the row of the session, which whoever writes holds: what is written before is seen by the
 * statements that follow, and what comes later meets the tombstone. */
static res_t remove_all(void *data)
{
    const removal_t *removal = data;
    ik_pq_rows_t *rows;
    TRY(ik_pq_link_run(
        removal->scratch, removal->link,
        "UPDATE ikigai.sessions SET deleted_at = extract(epoch FROM now()) * 1000000, cwd = '',"
        " host = '', model = '', title = '', turns = 0, messages = 0, tokens_in = NULL,"
        " tokens_cached = NULL, tokens_cache_write = NULL, tokens_out = NULL,"
        " tokens_reasoning = NULL, cost = NULL WHERE id = $1 AND deleted_at IS NULL RETURNING id",
        &removal->params, &rows));
    if (rows->count == 0) {
        return ERR(NOT_FOUND, "There is no session %s", removal->session_id);
    }
    TRY(ik_pq_link_run(removal->scratch, removal->link,
                       "DELETE FROM ikigai.agents WHERE session_id = $1", &removal->params, NULL));
    return ik_pq_link_run(removal->scratch, removal->link,
                          "DELETE FROM ikigai.holders WHERE session_id = $1", &removal->params,
                          NULL);
}

res_t ik_postgres_remove(ik_pq_link_t *link, const char *session_id)
{
    removal_t removal = {.scratch = talloc_new(NULL), .link = link, .session_id = session_id};
    ik_pq_params_init(&removal.params, removal.scratch);
    ik_pq_params_add_text(&removal.params, ik_postgres_text_clean(removal.scratch, session_id));
    res_t removed = ik_pq_link_transact(link, remove_all, &removal);
    talloc_free(removal.scratch);
    return removed;
}

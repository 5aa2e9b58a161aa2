#include "store/postgres/store_postgres.h"

#include <string.h>

#include "base/alloc.h"
#include "store/postgres/postgres_claims.h"
#include "store/postgres/postgres_read.h"
#include "store/postgres/postgres_schema.h"
#include "store/postgres/postgres_text.h"
#include "store/postgres/postgres_write.h"

typedef struct {
    ik_store_t store;
    ik_pq_link_t *link;
    ik_postgres_claims_t *claims;
    char *identity;
} postgres_t;

/* --- the connection ---------------------------------------------------------------------- */

static res_t set_up(postgres_t *postgres)
{
    char *identity;
    TRY(ik_postgres_schema_migrate(postgres, postgres->link, &identity));
    /* When a different history answers, what the caller knows about the old one is wrong: this call
     * fails, later ones use the new one. The old text is not freed, a caller may still hold it. */
    bool changed = postgres->identity != NULL && strcmp(postgres->identity, identity) != 0;
    postgres->identity = identity;
    if (changed) {
        return ERR(GONE, "%s: the shared history was replaced by another one",
                   ik_pq_link_name(postgres->link));
    }
    return ik_postgres_claims_renew(postgres->claims);
}

/* Every call begins here. A connection that cannot be set up is closed. */
static res_t ensure_connected(postgres_t *postgres)
{
    if (ik_pq_link_is_up(postgres->link)) {
        return OK;
    }
    TRY(ik_pq_link_connect(postgres->link));
    res_t ready = set_up(postgres);
    if (is_err(&ready)) {
        ik_pq_link_close(postgres->link);
    }
    return ready;
}

/* --- the calls --------------------------------------------------------------------------- */

static res_t write_batch(ik_store_t *store, const ik_store_batch_t *batch)
{
    postgres_t *postgres = (postgres_t *)store;
    TRY(ensure_connected(postgres));
    return ik_postgres_write(postgres->link, batch);
}

static res_t list_sessions(const void *ctx, ik_store_t *store, const ik_store_filter_t *filter,
                           ik_store_list_t **out)
{
    postgres_t *postgres = (postgres_t *)store;
    TRY(ensure_connected(postgres));
    return ik_postgres_read_list(ctx, postgres->link, filter, out);
}

static res_t find_sessions(const void *ctx, ik_store_t *store, const char *prefix,
                           ik_store_list_t **out)
{
    postgres_t *postgres = (postgres_t *)store;
    TRY(ensure_connected(postgres));
    return ik_postgres_read_prefix(ctx, postgres->link, prefix, out);
}

static res_t read_agents(const void *ctx, ik_store_t *store, const char *session_id,
                         ik_store_agents_t **out)
{
    postgres_t *postgres = (postgres_t *)store;
    TRY(ensure_connected(postgres));
    return ik_postgres_read_agents(ctx, postgres->link, session_id, out);
}

static res_t read_events(ik_store_t *store, const ik_store_agent_t *agent, int64_t after,
                         ik_store_event_fn on_event, void *data)
{
    postgres_t *postgres = (postgres_t *)store;
    TRY(ensure_connected(postgres));
    return ik_postgres_read_events(postgres->link, agent, after, on_event, data);
}

static res_t search(const void *ctx, ik_store_t *store, const ik_store_search_t *wanted,
                    ik_store_hits_t **out)
{
    postgres_t *postgres = (postgres_t *)store;
    ik_word_query_t *query = ik_word_query_parse(NULL, wanted->text);
    res_t found = OK;
    if (query->count == 0) {
        *out = ik_new(ctx, ik_store_hits_t);
    } else {
        found = ensure_connected(postgres);
        found =
            is_ok(&found) ? ik_postgres_read_hits(ctx, postgres->link, wanted, query, out) : found;
    }
    talloc_free(query);
    return found;
}

typedef struct {
    ik_pq_link_t *link;
    const char *session_id;
    ik_pq_params_t params;
} removal_t;

/* The row of the session stays as a tombstone: other machines have copies, and what they deliver
 * later must not bring it back. It is updated first, because writers hold that row: what was
 * written before is visible to the statements that follow, and later writers find the tombstone. */
static res_t bury(void *data)
{
    const removal_t *removal = data;
    const void *ctx = removal->params.ctx;
    ik_pq_rows_t *rows;
    TRY(ik_pq_link_run(
        ctx, removal->link,
        "UPDATE ikigai.sessions SET deleted_at = extract(epoch FROM now()) * 1000000, cwd = '',"
        " host = '', model = '', title = '', turns = 0, messages = 0, tokens_in = NULL,"
        " tokens_cached = NULL, tokens_cache_write = NULL, tokens_out = NULL,"
        " tokens_reasoning = NULL, cost = NULL WHERE id = $1 AND deleted_at IS NULL RETURNING id",
        &removal->params, &rows));
    if (rows->count == 0) {
        return ERR(NOT_FOUND, "There is no session %s", removal->session_id);
    }
    TRY(ik_pq_link_run(ctx, removal->link, "DELETE FROM ikigai.agents WHERE session_id = $1",
                       &removal->params, NULL));
    return ik_pq_link_run(ctx, removal->link, "DELETE FROM ikigai.holders WHERE session_id = $1",
                          &removal->params, NULL);
}

static res_t remove_session(ik_store_t *store, const char *session_id)
{
    postgres_t *postgres = (postgres_t *)store;
    removal_t removal = {.link = postgres->link, .session_id = session_id};
    TRY(ensure_connected(postgres));
    void *scratch = talloc_new(NULL);
    ik_pq_params_init(&removal.params, scratch);
    ik_pq_params_add_text(&removal.params, ik_postgres_text_clean(scratch, session_id));
    res_t removed = ik_pq_link_transact(postgres->link, bury, &removal);
    talloc_free(scratch);
    return removed;
}

static res_t claim_session(ik_store_t *store, const char *session_id, const ik_holder_t *self,
                           ik_holder_t *other)
{
    postgres_t *postgres = (postgres_t *)store;
    TRY(ensure_connected(postgres));
    return ik_postgres_claims_take(postgres->claims, session_id, self, other);
}

static res_t release_session(ik_store_t *store, const char *session_id, const ik_holder_t *self)
{
    return ik_postgres_claims_release(((postgres_t *)store)->claims, session_id, self);
}

static const ik_store_kind_t kind = {
    .write = write_batch,
    .list = list_sessions,
    .find = find_sessions,
    .agents = read_agents,
    .read = read_events,
    .search = search,
    .remove = remove_session,
    .claim = claim_session,
    .release = release_session,
};

/* --- opening ----------------------------------------------------------------------------- */

res_t ik_store_postgres_open(const void *ctx, const ik_store_postgres_options_t *options,
                             ik_store_t **out)
{
    postgres_t *postgres = ik_new(ctx, postgres_t);
    postgres->store.kind = &kind;
    res_t opened = ik_pq_link_create(postgres, options, &postgres->link);
    if (is_ok(&opened)) {
        postgres->claims = ik_postgres_claims_create(postgres, postgres->link);
        opened = ensure_connected(postgres);
    }
    if (is_err(&opened)) {
        talloc_free(postgres);
        return opened;
    }
    *out = &postgres->store;
    return OK;
}

res_t ik_store_postgres_reach(ik_store_t *store)
{
    return ensure_connected((postgres_t *)store);
}

const char *ik_store_postgres_identity(const ik_store_t *store)
{
    return ((const postgres_t *)store)->identity;
}

res_t ik_store_postgres_describe(const void *ctx, char **out)
{
    enum { MAJOR = 10000 };
    const ik_pq_library_t *library;
    TRY(ik_pq_library_load(&library));
    int version = library->libVersion();
    *out = ik_sprintf(ctx, "libpq %d.%d", version / MAJOR, version % MAJOR);
    return OK;
}

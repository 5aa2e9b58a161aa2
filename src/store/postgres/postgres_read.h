/* Reads the shared history (store.h). Deleted sessions do not exist here. */
#pragma once

#include "store/postgres/pq_link.h"
#include "store/words/word_query.h"

res_t ik_postgres_read_list(const void *ctx, ik_pq_link_t *link, const ik_store_filter_t *filter,
                            ik_store_list_t **out);
/* Sessions whose id has the prefix, at most ten. */
res_t ik_postgres_read_prefix(const void *ctx, ik_pq_link_t *link, const char *prefix,
                              ik_store_list_t **out);
/* An empty list when the session does not exist. */
res_t ik_postgres_read_agents(const void *ctx, ik_pq_link_t *link, const char *session_id,
                              ik_store_agents_t **out);
/* Holds about a megabyte at a time. The callback may use the connection. */
res_t ik_postgres_read_events(ik_pq_link_t *link, const ik_store_agent_t *agent, int64_t after,
                              ik_store_event_fn on_event, void *data);
/* query is search->text, parsed, with at least one word. Ranks the newest 2,000 matches, so that a
 * word that occurs in half of a million messages does not make the server rank them all. */
res_t ik_postgres_read_hits(const void *ctx, ik_pq_link_t *link, const ik_store_search_t *search,
                            const ik_word_query_t *query, ik_store_hits_t **out);

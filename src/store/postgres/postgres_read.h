/* Reading the shared history, as store.h has it. Deleted sessions are not there. */
#pragma once

#include "store/postgres/pq_link.h"

res_t ik_postgres_read_list(const void *ctx, ik_pq_link_t *link, const ik_store_filter_t *filter,
                            ik_store_list_t **out);
/* Sessions whose id begins so; a few of them when there are many. */
res_t ik_postgres_read_beginning(const void *ctx, ik_pq_link_t *link, const char *prefix,
                                 ik_store_list_t **out);
/* None when there is no such session. */
res_t ik_postgres_read_agents(const void *ctx, ik_pq_link_t *link, const char *session_id,
                              ik_store_agents_t **out);
/* Holds a megabyte at a time, however long the log is; the callback may use the connection. */
res_t ik_postgres_read_events(ik_pq_link_t *link, const ik_store_agent_t *agent, int64_t after,
                              ik_store_event_fn on_event, void *data);

/*
 * The schema "ikigai" of a database. Migrations bring it from the version it has to
 * IK_POSTGRES_SCHEMA, each in its own transaction, on one machine at a time. A released migration
 * is never changed; to change the schema, add another.
 *
 *   sessions(id, cwd, host, model, title, created_at, updated_at, turns, messages, tokens_in,
 *            tokens_cached, tokens_cache_write, tokens_out, tokens_reasoning, cost, deleted_at)
 *   agents(session_id, number, parent, forked_at, created_at)
 *   messages(session_id, agent, seq, kind, content, data_json, data, words, created_at)
 *   usage(session_id, agent, seq, model, tokens_…, cost)     one row per answer of a model
 *   holders(session_id, pid, started, host)                  the last process that claimed a
 * session identity(id)                                             of this history, one row
 *   schema_version(version)
 *
 * data_json is the message's data as text; data has its small members as jsonb, for SQL queries;
 * words is the full-text index (postgres_text.h makes both). A session with deleted_at is a
 * tombstone without agents and messages, and none are added. A figure that is not known is NULL.
 * Times are microseconds since 1970.
 */
#pragma once

#include "store/postgres/pq_link.h"

enum { IK_POSTGRES_SCHEMA = 1 };

/* *identity is on ctx. IK_ERR_CONFLICT when a newer program made the schema. IK_ERR_DENIED, with
 * the GRANT that is missing, when the user may not create or use it. */
res_t ik_postgres_schema_migrate(const void *ctx, ik_pq_link_t *link, char **identity);

/*
 * The schema "ikigai" of a database as numbered steps: it is brought from the version it has to
 * IK_POSTGRES_SCHEMA, each step in a transaction of its own, by one machine at a time. A step that
 * was released is never changed; to change the schema, add one.
 *
 *   sessions(id, cwd, host, model, title, created_at, updated_at, turns, messages, tokens_in,
 *            tokens_cached, tokens_cache_write, tokens_out, tokens_reasoning, cost, deleted_at)
 *   agents(session_id, number, parent, forked_at, created_at)
 *   messages(session_id, agent, seq, kind, content, data_json, data, words, created_at)
 *   usage(session_id, agent, seq, model, tokens_…, cost)     one row per answer of a model
 *   holders(session_id, pid, started, host)                  who writes a session, or did
 *   identity(id)                                             of this history, one row
 *   schema_version(version)
 *
 * What stands in data_json is the text itself; data are the small members of it, for whoever looks
 * into the database (postgres_data.h), words what is searched (postgres_words.h). A session with
 * deleted_at is a tombstone: nothing else of it is left, and nothing is added to it. A figure that
 * is not known is NULL. Times are microseconds since 1970.
 */
#pragma once

#include "store/postgres/pq_link.h"

enum { IK_POSTGRES_SCHEMA = 1 };

/* *identity is on ctx. IK_ERR_CONFLICT when the schema is of a newer program, IK_ERR_DENIED, with
 * what is to be granted, when it may not be made or used. */
res_t ik_postgres_schema_migrate(const void *ctx, ik_pq_link_t *link, char **identity);

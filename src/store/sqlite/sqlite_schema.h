/*
 * The schema, as numbered migrations: a file is brought from its version to IK_SQLITE_SCHEMA, each
 * step in its own transaction. A released step is never changed; to change the schema, add a step.
 *
 *   sessions(key, id, cwd, host, model, title, created_at, updated_at, answered_at, turns,
 *            tokens_in, tokens_cached, tokens_cache_write, tokens_out, tokens_reasoning, cost)
 *   agents(session, number, parent, forked_at, created_at)
 *   messages(id, session, agent, seq, kind, content, data_json, created_at)
 *   usage(session, agent, seq, model, tokens_…, cost)       one row per answer of a model
 *   holders(session_id, pid, started, host)                 who writes a session now
 *   deliveries(server, last_id, consent, changes)           what a server has, by messages.id
 *   shared(server, session_id)                              sessions that may be delivered there
 *   search, search_mark                                     sqlite_search.h
 *   schema_version(version)
 *
 * session is sessions.key. An unknown figure is NULL. The index `records` has the messages that are
 * IK_SQLITE_RECORDS.
 */
#pragma once

#include <sqlite3.h>

#include "base/error.h"

enum { IK_SQLITE_SCHEMA = 5 };

/* A query uses the index only with these words. */
#define IK_SQLITE_RECORDS "kind IN ('checkpoint', 'undo', 'redo')"

/* IK_ERR_CONFLICT when the file was written by a newer program or is not a database of ikigai. */
res_t ik_sqlite_schema_migrate(sqlite3 *db);

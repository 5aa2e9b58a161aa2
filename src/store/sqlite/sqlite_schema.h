/*
 * The schema as numbered steps: a file is brought from the version it has to IK_SQLITE_SCHEMA, each
 * step in a transaction of its own. A step that was released is never changed; to change the
 * schema, add one.
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
 * session is sessions.key. A figure that is not known is NULL.
 */
#pragma once

#include <sqlite3.h>

#include "base/error.h"

enum { IK_SQLITE_SCHEMA = 4 };

/* IK_ERR_CONFLICT when the file is of a newer program. */
res_t ik_sqlite_schema_migrate(sqlite3 *db);

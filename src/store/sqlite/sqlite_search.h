/*
 * Full-text search in the SQLite file. The index is a contentless FTS5 table "search" whose rowid
 * is messages.id; it is filled in batches, and search_mark says how far. A search ranks the newest
 * 2,000 matches, so that a word that occurs in half of a million messages does not make SQLite read
 * them all.
 */
#pragma once

#include <sqlite3.h>

#include "store/sqlite/packed_text.h"
#include "store/store.h"

/* The statements that create the tables, for a migration. */
extern const char ik_sqlite_search_schema[];

/* See store_sqlite.h. Both use their own transactions. */
res_t ik_sqlite_search_index(sqlite3 *db, ik_packer_t *packer, size_t most, bool *left);
res_t ik_sqlite_search_find(const void *ctx, sqlite3 *db, ik_packer_t *packer,
                            const ik_store_search_t *search, ik_store_hits_t **out);
/* Removes a session (sessions.key) from the index. Call it in the transaction that deletes the
 * session, before its messages are deleted. */
res_t ik_sqlite_search_forget(sqlite3 *db, ik_packer_t *packer, int64_t session);
/* Lowers the mark. Call it after messages were deleted, in the same transaction: their ids may be
 * used again and must lie above the mark. */
res_t ik_sqlite_search_settle(sqlite3 *db);
/* Rewrites the index, which otherwise still contains the words of deleted sessions. Takes seconds
 * for a million messages, in its own transaction. */
res_t ik_sqlite_search_purge(sqlite3 *db);
/* Checks the whole index and empties it when it is inconsistent; the next search or
 * ik_sqlite_search_index fills it again. */
res_t ik_sqlite_search_check(sqlite3 *db, bool *emptied);

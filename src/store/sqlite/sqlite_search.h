/*
 * Full-text search in the SQLite file: a contentless FTS5 table "search" whose rowid is
 * messages.id, filled in batches up to a mark (search_mark). Ranked among the newest few thousand
 * matches: a word that stands in half of a million messages must not cost a look at all of them.
 */
#pragma once

#include <sqlite3.h>

#include "store/sqlite/packed_text.h"
#include "store/store.h"

/* The tables, for the migration that adds them: one or more statements. */
extern const char ik_sqlite_search_schema[];

/* In a transaction of their own. See store_sqlite.h. */
res_t ik_sqlite_search_index(sqlite3 *db, ik_packer_t *packer, size_t most, bool *left);
res_t ik_sqlite_search_find(const void *ctx, sqlite3 *db, ik_packer_t *packer,
                            const ik_store_search_t *search, ik_store_hits_t **out);
/* Takes a session (sessions.key) out of the index, inside the caller's transaction, while its
 * messages are still there. */
res_t ik_sqlite_search_forget(sqlite3 *db, ik_packer_t *packer, int64_t session);
/* Behind the caller's removal of messages, in the same transaction: ids that are free again may be
 * given to others, so the mark must not lie above them. */
res_t ik_sqlite_search_settle(sqlite3 *db);
/* Writes the index anew without what was taken out: until then words of a session that was deleted
 * still stand in the file. Seconds for a million messages; in a transaction of its own. */
res_t ik_sqlite_search_purge(sqlite3 *db);
/* Looks through all of the index: one that contradicts itself is emptied, and the next search or
 * ik_sqlite_search_index fills it again. */
res_t ik_sqlite_search_check(sqlite3 *db, bool *emptied);

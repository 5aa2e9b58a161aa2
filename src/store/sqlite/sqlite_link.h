/* One connection to a SQLite file: opening, statements, transactions, and errors people can read.
 */
#pragma once

#include <sqlite3.h>

#include "base/error.h"

/* Opens the file, made private when it is not there (":memory:" is none), and sets the connection
 * up. Errors as in store_sqlite.h. */
/* Programs that fill a new database at the same time do it one after the other: the first makes its
 * tables, the others find them. Returns what ik_sqlite_end_making gets; -1: it is made. */
int ik_sqlite_begin_making(const char *path);
void ik_sqlite_end_making(int lock);
res_t ik_sqlite_open(const char *path, sqlite3 **db);

/* Takes from others what they might do with a file that was not made here. */
void ik_sqlite_make_private(sqlite3 *db);

/* What the last call on db says went wrong, as one line that names the file and says what to do. */
res_t ik_sqlite_error(sqlite3 *db);
/* The same for one that could not be opened and knows no file. */
res_t ik_sqlite_error_at(sqlite3 *db, const char *path);

/* Runs statements that take and return nothing. */
res_t ik_sqlite_run(sqlite3 *db, const char *sql);
/* A statement to be finalized by the caller. */
res_t ik_sqlite_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out);
/* Steps: *row says whether there is one. Resets the statement when there is none or it failed. */
res_t ik_sqlite_step(sqlite3_stmt *statement, bool *row);
/* A column of the row, "" for NULL. */
char *ik_sqlite_copy_text(const void *ctx, sqlite3_stmt *row, int column);
/* For a statement that returns no row. */
res_t ik_sqlite_execute(sqlite3_stmt *statement);

/* All of work or nothing. The lock is taken at the beginning: whoever has to wait does so before it
 * has read anything. */
typedef res_t (*ik_sqlite_work_fn)(void *data);
res_t ik_sqlite_transact(sqlite3 *db, ik_sqlite_work_fn work, void *data);
/* Ends a transaction that failed, if it is still there; what went wrong is known already. */
void ik_sqlite_roll_back(sqlite3 *db);

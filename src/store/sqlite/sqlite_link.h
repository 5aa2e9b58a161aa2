/* A connection to a SQLite file: opening, statements, transactions and readable errors. */
#pragma once

#include <sqlite3.h>

#include "base/error.h"

/* Locks a new database while its tables are created, so that of several programs that start at once
 * only the first creates them. Returns the lock for ik_sqlite_end_making; -1: none is needed. */
int ik_sqlite_begin_making(const char *path);
void ik_sqlite_end_making(int lock);
/* Opens and configures a connection. The file is created with mode 0600 if it does not exist,
 * unless path is ":memory:". Errors as in store_sqlite.h. */
res_t ik_sqlite_open(const char *path, sqlite3 **db);

/* Removes the permissions of other users on the file. */
void ik_sqlite_make_private(sqlite3 *db);

/* The error of the last call on db, as one line that names the file and says what to do. */
res_t ik_sqlite_error(sqlite3 *db);
/* As ik_sqlite_error, for a connection that could not be opened and does not know its file. */
res_t ik_sqlite_error_at(sqlite3 *db, const char *path);

/* Runs statements without parameters and results. */
res_t ik_sqlite_run(sqlite3 *db, const char *sql);
/* The caller finalizes the statement. */
res_t ik_sqlite_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out);
/* Steps to the next row; *row is false when there is none. Then, and on an error, the statement is
 * reset. */
res_t ik_sqlite_step(sqlite3_stmt *statement, bool *row);
/* A text column of the row; "" for NULL. */
char *ik_sqlite_copy_text(const void *ctx, sqlite3_stmt *row, int column);
/* For a statement that returns no row. */
res_t ik_sqlite_execute(sqlite3_stmt *statement);

/* Runs work in a transaction. The write lock is taken first, so that work never reads data that
 * changes while it waits for the lock. */
typedef res_t (*ik_sqlite_work_fn)(void *data);
res_t ik_sqlite_transact(sqlite3 *db, ik_sqlite_work_fn work, void *data);
/* Rolls back a transaction, if there is one. */
void ik_sqlite_roll_back(sqlite3 *db);

/*
 * Stores of both kinds for a test: a file in the scratch folder, and the database that tests/run
 * gives the program (alone: tests/postgres.py PROGRAM). Both are empty when a test begins; one
 * that is opened twice has two connections to the same data.
 */
#pragma once

#include <dlfcn.h>

#include "scratch.h"
#include "store/postgres/store_postgres.h"
#include "store/sqlite/store_sqlite.h"

typedef enum { BACKEND_SQLITE, BACKEND_POSTGRES, BACKEND_COUNT } backend_t;

static const char *const backend_names[BACKEND_COUNT] = {"sqlite", "postgres"};

static inline const char *backend_postgres_url(void)
{
    const char *url = getenv("IKIGAI_TEST_POSTGRES");
    ck_assert_msg(url != NULL, "needs a PostgreSQL server: tests/postgres.py PROGRAM starts one");
    return url;
}

static inline void *backend_symbol(const char *name)
{
    void *library = dlopen("libpq.so.5", RTLD_NOW);
    ck_assert_msg(library != NULL, "needs libpq: script/bootstrap --test installs it");
    void *symbol = dlsym(library, name);
    ck_assert_ptr_nonnull(symbol);
    return symbol;
}

/* Past the store: what the tests do to a database behind its back. */
static inline void backend_postgres_run(const char *sql)
{
    void *(*connect)(const char *) = backend_symbol("PQconnectdb");
    void *(*execute)(void *, const char *) = backend_symbol("PQexec");
    int (*status)(const void *) = backend_symbol("PQresultStatus");
    char *(*message)(const void *) = backend_symbol("PQerrorMessage");
    void (*clear)(void *) = backend_symbol("PQclear");
    void (*finish)(void *) = backend_symbol("PQfinish");
    enum { COMMAND_OK = 1, TUPLES_OK = 2 };
    void *connection = connect(backend_postgres_url());
    void *result = execute(connection, sql);
    int how = status(result);
    ck_assert_msg(how == COMMAND_OK || how == TUPLES_OK, "%s: %s", sql, message(connection));
    clear(result);
    finish(connection);
}

/* A test that failed without a process of its own left its connection open. */
static inline void backend_empty(void)
{
    scratch_empty();
    backend_postgres_run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                         " WHERE datname = current_database() AND pid <> pg_backend_pid()");
    backend_postgres_run("SET client_min_messages = warning;"
                         "DROP SCHEMA IF EXISTS ikigai CASCADE");
}

static inline const char *backend_file(void)
{
    return scratch_path("history.db");
}

static inline ik_store_t *backend_open_file(const void *ctx, const char *path)
{
    ik_store_t *store = NULL;
    res_t opened = ik_store_sqlite_open(ctx, path, &store);
    ck_assert_msg(is_ok(&opened), "%s", opened.message);
    return store;
}

static inline ik_store_t *backend_open(const void *ctx, backend_t backend)
{
    if (backend == BACKEND_SQLITE) {
        return backend_open_file(ctx, backend_file());
    }
    ik_store_postgres_options_t options = {.url = backend_postgres_url(), .wake_fd = -1};
    ik_store_t *store = NULL;
    res_t opened = ik_store_postgres_open(ctx, &options, &store);
    ck_assert_msg(is_ok(&opened), "%s", opened.message);
    return store;
}

/*
 * sqlite-query: looks into a SQLite file, and cannot change it. Without a query it lists the
 * tables.
 *
 *   cc -O2 -o sqlite-query sqlite-query.c -ljansson -lsqlite3 -lm     (or: make -C examples)
 *   ikigai tool check sqlite-query
 *
 * Nothing can be changed: the file is opened for reading, SQLite says of every statement whether it
 * only reads, and an authorizer forbids to reach for other files (ATTACH, VACUUM INTO).
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

enum {
    ROWS_DEFAULT = 100,
    ROWS_MAX = 1000,
    BLOB_SHOWN = 64, /* bytes */
    QUERY_MAX = 100000,
    ANSWER_BYTES = 100, /* of an answer beside columns and rows, with a margin */
    QUERY_SECONDS = 20, /* ikigai gives up after 30 without progress */
    BUSY_MS = 2000,
    STEPS = 10000, /* of SQLite's virtual machine, between two checks of the clock */
};

static const char schema[] =
    "{\"name\": \"sqlite_query\","
    " \"description\": \"Read a SQLite database file: without a query what is in it (tables, views,"
    " indexes, triggers), with a query the rows of one SELECT, VALUES, EXPLAIN or reading PRAGMA\","
    " \"parameters\": {\"type\": \"object\", \"properties\": {"
    "\"file\": {\"type\": \"string\", \"description\": \"Path of the database file\"},"
    " \"query\": {\"type\": \"string\", \"description\": \"One SQL statement that only reads"
    " (default: list what is in the file)\"},"
    " \"limit\": {\"type\": \"integer\", \"description\": \"Return at most this many rows"
    " (default 100, at most 1000)\"}},"
    " \"required\": [\"file\"]},"
    " \"returns\": {\"type\": \"object\", \"properties\": {"
    "\"columns\": {\"type\": \"array\", \"items\": {\"type\": \"string\"},"
    " \"description\": \"Their names\"},"
    " \"results\": {\"type\": \"array\", \"items\": {\"type\": \"array\", \"items\": {}},"
    " \"description\": \"The rows: lists of values in the order of columns\"},"
    " \"count\": {\"type\": \"integer\", \"description\": \"Number of rows in results\"},"
    " \"truncated\": {\"type\": \"boolean\", \"description\": \"Whether there are more rows\"}}},"
    /* A database in WAL mode has files beside it that readers write, too. */
    " \"parallel\": true, \"effects\": {\"write\": \"project\", \"network\": false}}";

static const char list_query[] = "SELECT type, name, sql FROM sqlite_master"
                                 " WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY type, name";

static const char only_reading[] =
    "Only what reads is allowed: SELECT, VALUES, EXPLAIN, PRAGMA table_info and the like";

typedef struct {
    const char *file;
    const char *query;
    json_int_t limit; /* rows */
    size_t max_bytes;
} params_t;

/* The answer for a failed operation. */
static json_t *fail(const char *code, const char *error)
{
    return json_pack("{s:s, s:s}", "error", error, "error_code", code);
}

/* --- parameters -------------------------------------------------------------------------- */

/* Returns an error message, or NULL. null counts as absent. */
static const char *read_params(json_t *given, params_t *params)
{
    json_t *file = json_object_get(given, "file");
    json_t *query = json_object_get(given, "query");
    json_t *limit = json_object_get(given, "limit");
    const char *max_bytes = getenv("IKIGAI_MAX_OUTPUT");
    if (!json_is_object(given)) {
        return "Standard input must be one JSON object";
    }
    if (!json_is_string(file)) {
        return "Parameter 'file' must be a string";
    }
    if (query != NULL && !json_is_null(query) && !json_is_string(query)) {
        return "Parameter 'query' must be a string";
    }
    params->file = json_string_value(file);
    params->query = json_is_string(query) ? json_string_value(query) : list_query;
    params->limit = ROWS_DEFAULT;
    params->max_bytes = max_bytes == NULL ? SIZE_MAX : strtoull(max_bytes, NULL, 10);
    if (limit != NULL && !json_is_null(limit)) {
        params->limit = json_integer_value(limit); /* 0 if it is not an integer */
    }
    bool in_range = params->limit >= 1 && params->limit <= ROWS_MAX;
    return in_range ? NULL : "Parameter 'limit' must be between 1 and 1000";
}

/* --- values ------------------------------------------------------------------------------ */

/* In SQL notation, x'00ff'; long values are cut. */
static json_t *blob_value(const unsigned char *bytes, int len)
{
    char text[2 * BLOB_SHOWN + 1];
    int shown = len < BLOB_SHOWN ? len : BLOB_SHOWN;
    text[0] = '\0';
    for (int i = 0; i < shown; i++) {
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
    return shown == len ? json_sprintf("x'%s'", text)
                        : json_sprintf("x'%s'... (%d bytes)", text, len);
}

static json_t *column_value(sqlite3_stmt *statement, int column)
{
    json_t *value = NULL;
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
        return json_null();
    case SQLITE_INTEGER:
        return json_integer(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT:
        if (isfinite(sqlite3_column_double(statement, column))) {
            return json_real(sqlite3_column_double(statement, column));
        }
        break; /* JSON has no infinity */
    case SQLITE_BLOB:
        return blob_value(sqlite3_column_blob(statement, column),
                          sqlite3_column_bytes(statement, column));
    }
    const char *text = (const char *)sqlite3_column_text(statement, column);
    int len = sqlite3_column_bytes(statement, column);
    value = json_stringn(text, (size_t)len);
    return value != NULL ? value : blob_value((const unsigned char *)text, len); /* not UTF-8 */
}

static json_t *row_values(sqlite3_stmt *statement)
{
    json_t *row = json_array();
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        json_array_append_new(row, column_value(statement, i));
    }
    return row;
}

static json_t *column_names(sqlite3_stmt *statement)
{
    json_t *names = json_array();
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        json_array_append_new(names, json_string(sqlite3_column_name(statement, i)));
    }
    return names;
}

/* --- the database ------------------------------------------------------------------------ */

/* SQLITE_DENY for statements that have effects although sqlite3_stmt_readonly accepts them. */
static int permit(void *data, int action, const char *first, const char *second,
                  const char *database, const char *trigger)
{
    static const char *const pragmas[] = {
        "application_id",   "data_version", "database_list", "encoding",
        "foreign_key_list", "index_info",   "index_list",    "index_xinfo",
        "journal_mode",     "page_count",   "page_size",     "schema_version",
        "table_info",       "table_list",   "table_xinfo",   "user_version"};
    (void)data, (void)second, (void)database, (void)trigger;
    if (action != SQLITE_PRAGMA) {
        return action == SQLITE_ATTACH || action == SQLITE_DETACH ? SQLITE_DENY : SQLITE_OK;
    }
    for (size_t i = 0; i < sizeof(pragmas) / sizeof(*pragmas); i++) {
        if (strcasecmp(first, pragmas[i]) == 0) {
            return SQLITE_OK;
        }
    }
    return SQLITE_DENY;
}

static int is_over(void *deadline)
{
    return time(NULL) > *(time_t *)deadline;
}

static json_t *fail_query(sqlite3 *db)
{
    switch (sqlite3_errcode(db)) {
    case SQLITE_AUTH:
        return fail("READ_ONLY", only_reading);
    case SQLITE_NOTADB:
        return fail("NOT_A_DATABASE", sqlite3_errmsg(db));
    case SQLITE_CANTOPEN:
        return fail("OPEN_FAILED", sqlite3_errmsg(db));
    case SQLITE_INTERRUPT:
        return fail("QUERY_FAILED", "The query takes too long");
    default:
        return fail("QUERY_FAILED", sqlite3_errmsg(db));
    }
}

static json_t *read_rows(sqlite3 *db, sqlite3_stmt *statement, const params_t *params)
{
    json_t *columns = column_names(statement);
    json_t *rows = json_array();
    size_t bytes = ANSWER_BYTES + json_dumpb(columns, NULL, 0, JSON_COMPACT);
    bool truncated = false;
    int status;
    while ((status = sqlite3_step(statement)) == SQLITE_ROW && !truncated) {
        json_t *row = row_values(statement);
        bytes += json_dumpb(row, NULL, 0, JSON_COMPACT) + 1;
        truncated = json_array_size(rows) == (size_t)params->limit ||
                    (bytes > params->max_bytes && json_array_size(rows) > 0);
        if (!truncated) {
            json_array_append(rows, row);
        }
        json_decref(row);
    }
    if (status != SQLITE_DONE && !truncated) {
        json_decref(columns);
        json_decref(rows);
        return fail_query(db);
    }
    json_int_t count = (json_int_t)json_array_size(rows);
    return json_pack("{s:o, s:o, s:I, s:b}", "columns", columns, "results", rows, "count", count,
                     "truncated", truncated);
}

static json_t *run_query(sqlite3 *db, const params_t *params)
{
    sqlite3_stmt *statement = NULL;
    sqlite3_stmt *second = NULL;
    const char *rest;
    if (sqlite3_prepare_v2(db, params->query, -1, &statement, &rest) != SQLITE_OK) {
        return fail_query(db);
    }
    json_t *answer;
    if (statement == NULL) {
        answer = fail("INVALID_ARG", "Parameter 'query' must be an SQL statement");
    } else if (sqlite3_prepare_v2(db, rest, -1, &second, NULL) != SQLITE_OK || second != NULL) {
        answer = fail("INVALID_ARG", "Parameter 'query' must be one statement only");
    } else if (!sqlite3_stmt_readonly(statement)) {
        answer = fail("READ_ONLY", only_reading);
    } else {
        answer = read_rows(db, statement, params);
    }
    sqlite3_finalize(second);
    sqlite3_finalize(statement);
    return answer;
}

static json_t *read_database(const params_t *params)
{
    sqlite3 *db;
    time_t deadline = time(NULL) + QUERY_SECONDS;
    json_t *answer;
    if (sqlite3_open_v2(params->file, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
        answer = fail("OPEN_FAILED", sqlite3_errmsg(db));
    } else {
        sqlite3_busy_timeout(db, BUSY_MS);
        sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, QUERY_MAX);
        sqlite3_set_authorizer(db, permit, NULL);
        sqlite3_progress_handler(db, STEPS, is_over, &deadline);
        answer = run_query(db, params);
    }
    sqlite3_close(db);
    return answer;
}

static json_t *run(json_t *given)
{
    params_t params = {0};
    struct stat status;
    const char *wrong = read_params(given, &params);
    if (wrong != NULL) {
        return fail("INVALID_ARG", wrong);
    }
    if (stat(params.file, &status) != 0) {
        return fail(errno == ENOENT ? "FILE_NOT_FOUND" : "OPEN_FAILED", strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) { /* SQLite would wait for ever at a FIFO */
        return fail("OPEN_FAILED", "It is not a regular file");
    }
    return read_database(&params);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--schema") == 0) {
        puts(schema);
        return 0;
    }
    json_t *given = json_loadf(stdin, JSON_DECODE_ANY, NULL);
    json_t *answer = run(given);
    int status = json_dumpf(answer, stdout, JSON_COMPACT);
    json_decref(answer);
    json_decref(given);
    return status == 0 && fflush(stdout) == 0 ? 0 : 1;
}

#include "store/sqlite/sqlite_schema.h"

#include "store/sqlite/sqlite_link.h"
#include "store/sqlite/sqlite_search.h"

/* 1: the log. AUTOINCREMENT, because a writer may remember the key of a deleted session, which must
 * not be the key of another one. */
static const char log_schema[] =
    "CREATE TABLE sessions("
    "  key INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  id TEXT NOT NULL UNIQUE,"
    "  cwd TEXT NOT NULL,"
    "  host TEXT NOT NULL,"
    "  model TEXT NOT NULL,"
    "  title TEXT,"
    "  created_at INTEGER NOT NULL,"
    "  updated_at INTEGER NOT NULL,"
    "  answered_at INTEGER," /* time of the answer that set model */
    "  turns INTEGER NOT NULL DEFAULT 0,"
    "  tokens_in INTEGER,"
    "  tokens_cached INTEGER,"
    "  tokens_cache_write INTEGER,"
    "  tokens_out INTEGER,"
    "  tokens_reasoning INTEGER,"
    "  cost REAL);"
    "CREATE TABLE agents("
    "  session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,"
    "  number INTEGER NOT NULL,"
    "  parent INTEGER,"
    "  forked_at INTEGER NOT NULL DEFAULT 0,"
    "  created_at INTEGER NOT NULL,"
    "  PRIMARY KEY(session, number),"
    "  FOREIGN KEY(session, parent) REFERENCES agents(session, number)) WITHOUT ROWID;"
    "CREATE TABLE messages("
    "  id INTEGER PRIMARY KEY,"
    "  session INTEGER NOT NULL,"
    "  agent INTEGER NOT NULL,"
    "  seq INTEGER NOT NULL,"
    "  kind TEXT NOT NULL,"
    "  content,"
    "  data_json,"
    "  created_at INTEGER NOT NULL,"
    "  UNIQUE(session, agent, seq),"
    "  FOREIGN KEY(session, agent) REFERENCES agents(session, number) ON DELETE CASCADE);"
    "CREATE TABLE usage("
    "  session INTEGER NOT NULL,"
    "  agent INTEGER NOT NULL,"
    "  seq INTEGER NOT NULL,"
    "  model TEXT,"
    "  tokens_in INTEGER,"
    "  tokens_cached INTEGER,"
    "  tokens_cache_write INTEGER,"
    "  tokens_out INTEGER,"
    "  tokens_reasoning INTEGER,"
    "  cost REAL,"
    "  PRIMARY KEY(session, agent, seq),"
    "  FOREIGN KEY(session, agent, seq) REFERENCES messages(session, agent, seq)"
    "    ON DELETE CASCADE) WITHOUT ROWID;";

/* 3: who writes a session, and what a shared history has. */
static const char sharing_schema[] = "CREATE TABLE holders("
                                     "  session_id TEXT PRIMARY KEY,"
                                     "  pid INTEGER NOT NULL,"
                                     "  started INTEGER NOT NULL,"
                                     "  host TEXT NOT NULL) WITHOUT ROWID;"
                                     "CREATE TABLE deliveries("
                                     "  server TEXT PRIMARY KEY,"
                                     "  last_id INTEGER NOT NULL) WITHOUT ROWID;";

/* 4: which sessions are delivered to a server. Before, all of them were: consent 3 is
 * IK_STORE_SHARE_ALL. */
static const char consent_schema[] =
    "ALTER TABLE deliveries ADD COLUMN consent INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE deliveries ADD COLUMN changes INTEGER NOT NULL DEFAULT 0;"
    "UPDATE deliveries SET consent = 3;"
    "CREATE TABLE shared("
    "  server TEXT NOT NULL,"
    "  session_id TEXT NOT NULL,"
    "  PRIMARY KEY(server, session_id)) WITHOUT ROWID;";

/* 5: counts the records of a session (ik_msg_kind_is_record), of which there are few. */
static const char records_schema[] =
    "CREATE INDEX records ON messages(session, kind) WHERE " IK_SQLITE_RECORDS ";";

static const char *const steps[IK_SQLITE_SCHEMA] = {
    log_schema,     ik_sqlite_search_schema, /* 2: the search index */
    sharing_schema, consent_schema,          records_schema,
};

static res_t query_number(sqlite3 *db, const char *sql, int *number)
{
    sqlite3_stmt *statement;
    bool row;
    TRY(ik_sqlite_prepare(db, sql, &statement));
    res_t stepped = ik_sqlite_step(statement, &row);
    *number = is_ok(&stepped) && row ? sqlite3_column_int(statement, 0) : 0;
    sqlite3_finalize(statement);
    return stepped;
}

/* *version is 0 for an empty database. */
static res_t read_version(sqlite3 *db, int *version)
{
    int there;
    *version = 0;
    TRY(query_number(db, "SELECT count(*) FROM sqlite_master WHERE name='schema_version'", &there));
    return there == 0 ? OK : query_number(db, "SELECT max(version) FROM schema_version", version);
}

/* Refuses databases of other applications and of newer programs. Tables are counted first: if
 * another program creates the database at this moment, there are either no tables or a version,
 * too. */
static res_t read_own_version(sqlite3 *db, int *version)
{
    int tables;
    TRY(query_number(db, "SELECT count(*) FROM sqlite_master", &tables));
    TRY(read_version(db, version));
    if (*version > IK_SQLITE_SCHEMA) {
        return ERR(CONFLICT,
                   "%s was written by a newer ikigai (schema %d, this program knows %d): upgrade "
                   "this program, or choose another file with --db",
                   sqlite3_db_filename(db, "main"), *version, IK_SQLITE_SCHEMA);
    }
    return *version == 0 && tables > 0
               ? ERR(CONFLICT,
                     "%s is a database of another application: choose another file with --db",
                     sqlite3_db_filename(db, "main"))
               : OK;
}

/* Here SQLite does not call the busy handler, because two programs that create one file could wait
 * for each other. */
static res_t enable_wal(sqlite3 *db)
{
    enum { PATIENCE_MS = 5000, STEP_MS = 5 }; /* hundreds of programs may start at once */
    int waited = 0;
    res_t kept = ik_sqlite_run(db, "PRAGMA journal_mode=WAL");
    while ((sqlite3_errcode(db) & 0xff) == SQLITE_BUSY && waited < PATIENCE_MS) {
        waited += sqlite3_sleep(STEP_MS);
        kept = ik_sqlite_run(db, "PRAGMA journal_mode=WAL");
    }
    return kept;
}

/* Makes one step, or none when another program has made it. */
static res_t step_up(void *data)
{
    sqlite3 *db = data;
    int version;
    TRY(read_own_version(db, &version));
    if (version == IK_SQLITE_SCHEMA) {
        return OK;
    }
    if (version == 0) {
        TRY(ik_sqlite_run(db, "CREATE TABLE schema_version(version INTEGER NOT NULL)"));
    }
    TRY(ik_sqlite_run(db, steps[version]));
    return ik_sqlite_run(db, "INSERT INTO schema_version SELECT coalesce(max(version), 0) + 1 "
                             "FROM schema_version");
}

/* A file that is read-only can still be read, and nothing is written before the file is known to be
 * ours. */
res_t ik_sqlite_schema_migrate(sqlite3 *db)
{
    int version;
    TRY(read_own_version(db, &version));
    if (version == IK_SQLITE_SCHEMA && sqlite3_db_readonly(db, "main") == 1) {
        return OK;
    }
    ik_sqlite_make_private(db);
    TRY(enable_wal(db));
    while (version < IK_SQLITE_SCHEMA) {
        TRY(ik_sqlite_transact(db, step_up, db));
        version++;
    }
    return OK;
}

#include "store/postgres/postgres_schema.h"

#include <inttypes.h>
#include <stdarg.h>

#include "base/alloc.h"
#include "base/random.h"
#include "store/words/text_words.h"

_Static_assert(IK_TEXT_WORDS_VERSION == 1,
               "a new version of text_words.c needs a migration that rebuilds messages.words");

#define FIGURES                                                                                    \
    "tokens_in bigint,"                                                                            \
    "tokens_cached bigint,"                                                                        \
    "tokens_cache_write bigint,"                                                                   \
    "tokens_out bigint,"                                                                           \
    "tokens_reasoning bigint,"                                                                     \
    "cost double precision"

/* One statement each. Collation "C" compares bytes, so that a range of ids is a range of the index.
 */
static const char *const first_step[] = {
    "CREATE TABLE ikigai.schema_version(version integer NOT NULL)",
    "CREATE TABLE ikigai.identity(id text NOT NULL)",
    "CREATE TABLE ikigai.sessions("
    "  id text COLLATE \"C\" PRIMARY KEY,"
    "  cwd text COLLATE \"C\" NOT NULL,"
    "  host text NOT NULL,"
    "  model text NOT NULL,"
    "  title text NOT NULL DEFAULT '',"
    "  created_at bigint NOT NULL,"
    "  updated_at bigint NOT NULL,"
    "  answered_at bigint," /* time of the answer that model belongs to */
    "  turns bigint NOT NULL DEFAULT 0,"
    "  messages bigint NOT NULL DEFAULT 0," FIGURES ","
    "  deleted_at bigint)",
    "CREATE INDEX sessions_by_time ON ikigai.sessions(updated_at) WHERE deleted_at IS NULL",
    "CREATE TABLE ikigai.agents("
    "  session_id text COLLATE \"C\" NOT NULL REFERENCES ikigai.sessions(id) ON DELETE CASCADE,"
    "  number bigint NOT NULL,"
    "  parent bigint,"
    "  forked_at bigint NOT NULL,"
    "  created_at bigint NOT NULL,"
    "  PRIMARY KEY(session_id, number),"
    "  FOREIGN KEY(session_id, parent) REFERENCES ikigai.agents(session_id, number))",
    "CREATE TABLE ikigai.messages("
    "  session_id text COLLATE \"C\" NOT NULL,"
    "  agent bigint NOT NULL,"
    "  seq bigint NOT NULL,"
    "  kind text COLLATE \"C\" NOT NULL,"
    "  content text COLLATE \"C\","
    "  data_json text COLLATE \"C\","
    "  data jsonb,"
    "  words tsvector,"
    "  created_at bigint NOT NULL,"
    "  PRIMARY KEY(session_id, agent, seq),"
    "  FOREIGN KEY(session_id, agent) REFERENCES ikigai.agents(session_id, number)"
    "    ON DELETE CASCADE)",
    "CREATE INDEX messages_by_word ON ikigai.messages USING gin(words)",
    /* Finds the newest matches of a frequent word. */
    "CREATE INDEX messages_by_time ON ikigai.messages(created_at)",
    "CREATE TABLE ikigai.usage("
    "  session_id text COLLATE \"C\" NOT NULL,"
    "  agent bigint NOT NULL,"
    "  seq bigint NOT NULL,"
    "  model text NOT NULL," FIGURES ","
    "  PRIMARY KEY(session_id, agent, seq),"
    "  FOREIGN KEY(session_id, agent, seq) REFERENCES ikigai.messages(session_id, agent, seq)"
    "    ON DELETE CASCADE)",
    "CREATE TABLE ikigai.holders("
    "  session_id text COLLATE \"C\" PRIMARY KEY,"
    "  pid bigint NOT NULL,"
    "  started bigint NOT NULL,"
    "  host text NOT NULL)",
    NULL,
};

static const char *const *const steps[IK_POSTGRES_SCHEMA] = {first_step};

typedef struct {
    void *scratch;
    ik_pq_link_t *link;
} migration_t;

/* Adds advice to an error that is about missing privileges. */
__attribute__((format(printf, 2, 3))) static res_t advise(res_t refused, const char *format, ...)
{
    char advice[256];
    va_list args;
    va_start(args, format);
    vsnprintf(advice, sizeof(advice), format, args);
    va_end(args);
    return refused.code == IK_ERR_DENIED ? ERR(DENIED, "%.240s; %s", refused.message, advice)
                                         : refused;
}

static res_t query(const migration_t *migration, const char *sql, ik_pq_rows_t **rows)
{
    return ik_pq_link_run(migration->scratch, migration->link, sql, NULL, rows);
}

static res_t query_number(const migration_t *migration, const char *sql, int64_t *number)
{
    ik_pq_rows_t *rows;
    TRY(query(migration, sql, &rows));
    *number = rows->count == 0 ? 0 : ik_pq_rows_number(rows, 0, 0, 0);
    return OK;
}

static res_t advise_use(const migration_t *migration, res_t result)
{
    return advise(result,
                  "GRANT USAGE ON SCHEMA ikigai TO \"%s\"; GRANT SELECT, INSERT, UPDATE, DELETE ON "
                  "ALL TABLES IN SCHEMA ikigai TO \"%s\"",
                  ik_pq_link_user(migration->link), ik_pq_link_user(migration->link));
}

/* The version is 0 when the schema does not exist. */
static res_t read_version(const migration_t *migration, int64_t *version)
{
    int64_t there;
    *version = 0;
    TRY(query_number(migration,
                     "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
                     " WHERE n.nspname = 'ikigai' AND c.relname = 'schema_version'",
                     &there));
    if (there == 0) {
        return OK;
    }
    TRY(advise_use(
        migration,
        query_number(migration, "SELECT max(version) FROM ikigai.schema_version", version)));
    return *version <= IK_POSTGRES_SCHEMA
               ? OK
               : ERR(CONFLICT,
                     "The shared history (%s) was written by a newer ikigai (schema %" PRId64
                     ", this program knows %d): upgrade this program",
                     ik_pq_link_name(migration->link), *version, IK_POSTGRES_SCHEMA);
}

/* CREATE SCHEMA IF NOT EXISTS would need the privilege even where the schema exists. */
static res_t create_schema(const migration_t *migration)
{
    int64_t there;
    TRY(query_number(migration, "SELECT count(*) FROM pg_namespace WHERE nspname = 'ikigai'",
                     &there));
    if (there > 0) {
        return OK;
    }
    /* A separate statement: the query may close the connection, which owns the names below. */
    res_t created = query(migration, "CREATE SCHEMA ikigai", NULL);
    return advise(created, "GRANT CREATE ON DATABASE \"%s\" TO \"%s\"",
                  ik_pq_link_database(migration->link), ik_pq_link_user(migration->link));
}

/* Runs one migration, or none when another machine did it while we waited for the lock. The two
 * numbers of the lock spell "ikigai"; locks of sessions have a single number, so they cannot
 * collide. */
static res_t step_up(void *data)
{
    const migration_t *migration = data;
    ik_pq_params_t params;
    int64_t version;
    TRY(query(migration, "SELECT pg_advisory_xact_lock(1768647015, 24937)", NULL));
    TRY(read_version(migration, &version));
    if (version == IK_POSTGRES_SCHEMA) {
        return OK;
    }
    TRY(create_schema(migration));
    for (const char *const *sql = steps[version]; *sql != NULL; sql++) {
        res_t done = query(migration, *sql, NULL);
        TRY(advise(done, "GRANT USAGE, CREATE ON SCHEMA ikigai TO \"%s\"",
                   ik_pq_link_user(migration->link)));
    }
    if (version == 0) {
        ik_pq_params_init(&params, migration->scratch);
        ik_pq_params_add_text(&params, ik_sprintf(migration->scratch, "%016" PRIx64 "%016" PRIx64,
                                                  ik_random(), ik_random()));
        TRY(ik_pq_link_run(migration->scratch, migration->link,
                           "INSERT INTO ikigai.identity VALUES($1)", &params, NULL));
    }
    ik_pq_params_init(&params, migration->scratch);
    ik_pq_params_add_number(&params, version + 1);
    return ik_pq_link_run(migration->scratch, migration->link,
                          "INSERT INTO ikigai.schema_version VALUES($1)", &params, NULL);
}

static res_t migrate(const void *ctx, migration_t *migration, char **identity)
{
    int64_t version;
    ik_pq_rows_t *rows;
    TRY(read_version(migration, &version));
    for (; version < IK_POSTGRES_SCHEMA; version++) {
        TRY(ik_pq_link_transact(migration->link, step_up, migration));
    }
    TRY(advise_use(migration, query(migration, "SELECT id FROM ikigai.identity", &rows)));
    if (rows->count != 1) {
        return ERR(DAMAGED, "The shared history (%s) has lost its identity",
                   ik_pq_link_name(migration->link));
    }
    *identity = ik_strdup(ctx, ik_pq_rows_text(rows, 0, 0));
    return OK;
}

res_t ik_postgres_schema_migrate(const void *ctx, ik_pq_link_t *link, char **identity)
{
    migration_t migration = {.scratch = talloc_new(NULL), .link = link};
    res_t migrated = migrate(ctx, &migration, identity);
    talloc_free(migration.scratch);
    return migrated;
}

/*
 * The index holds words and their positions but no text, which is in messages already. Words of
 * tools and words of people and models are separate columns, so that ranking need not read
 * messages.
 *
 * search_rank below looks only at the row it ranks. bm25() would first count all rows of every
 * phrase, which for a frequent word is half of the history.
 */
#include "store/sqlite/sqlite_search.h"

#include <string.h>

#include "base/alloc.h"
#include "conversation/message.h"
#include "store/sqlite/sqlite_link.h"
#include "store/words/event_text.h"
#include "store/words/text_words.h"
#include "store/words/word_query.h"
#include "store/words/word_snippet.h"

/* search_mark has one row: the last messages.id in the index and its IK_TEXT_WORDS_VERSION. */
const char ik_sqlite_search_schema[] =
    "CREATE VIRTUAL TABLE search USING fts5(tool, said, content='', tokenize='ascii');"
    "CREATE TABLE search_mark(id INTEGER NOT NULL, words_version INTEGER NOT NULL);"
    "INSERT INTO search_mark VALUES(0, 0);";

enum {
    /* Limits of one transaction, during which other writers wait. */
    BATCH_EVENTS = 500,
    BATCH_BYTES = 512 * 1024,
    CATCH_UP_EVENTS = 20000, /* indexed before a search, in a second at most */
    SNIPPET_BYTES = 200,
};

/* --- changing the index ------------------------------------------------------------------ */

/* Adds messages to the index or removes them. */
typedef struct {
    sqlite3 *db;
    ik_packer_t *packer;
    sqlite3_stmt *select; /* id, kind, content, data_json */
    sqlite3_stmt *change; /* parameters: id, words of tools, words of others */
    ik_buffer_t text;
    ik_buffer_t words;
} indexer_t;

static int finalize_statements(indexer_t *indexer)
{
    sqlite3_finalize(indexer->select);
    sqlite3_finalize(indexer->change);
    return 0;
}

static res_t create_indexer(sqlite3 *db, ik_packer_t *packer, const char *select,
                            const char *change, indexer_t **out)
{
    indexer_t *indexer = ik_new(NULL, indexer_t);
    indexer->db = db;
    indexer->packer = packer;
    ik_buffer_init(&indexer->text, indexer, IK_EVENT_TEXT_MAX);
    ik_buffer_init(&indexer->words, indexer, IK_BUFFER_UNLIMITED); /* bounded by the text */
    talloc_set_destructor(indexer, finalize_statements);
    res_t prepared = ik_sqlite_prepare(db, select, &indexer->select);
    if (is_ok(&prepared)) {
        prepared = ik_sqlite_prepare(db, change, &indexer->change);
    }
    if (is_err(&prepared)) {
        talloc_free(indexer);
        return prepared;
    }
    *out = indexer;
    return OK;
}

/* Reads the searchable text of a message; kind, content and data_json are at column and the two
 * after it. A message that cannot be decompressed gives no text, so that it neither stops the index
 * nor hides other hits. */
static void read_text(ik_packer_t *packer, sqlite3_stmt *row, int column, ik_buffer_t *text)
{
    size_t len;
    ik_store_event_t event = {.kind = (const char *)sqlite3_column_text(row, column)};
    res_t content = ik_packed_text_read(packer, row, column + 1, &event.content, &len);
    res_t data = ik_packed_text_read(packer, row, column + 2, &event.data_json, &len);
    text->len = 0;
    if (event.kind != NULL && is_ok(&content) && is_ok(&data)) {
        ik_event_text_append(text, &event);
    }
}

/* Adds or removes the selected message. */
static res_t change_row(indexer_t *indexer)
{
    enum { TOOL = 2, SAID };
    sqlite3_stmt *change = indexer->change;
    read_text(indexer->packer, indexer->select, 1, &indexer->text);
    indexer->words.len = 0;
    if (indexer->text.len > 0) {
        ik_text_words_append(&indexer->words, indexer->text.data, indexer->text.len);
    }
    if (indexer->words.len == 0) {
        return OK;
    }
    const char *kind = (const char *)sqlite3_column_text(indexer->select, 1);
    bool is_tool = strcmp(kind, IK_MSG_TOOL_CALL) == 0 || strcmp(kind, IK_MSG_TOOL_RESULT) == 0;
    sqlite3_clear_bindings(change);
    sqlite3_bind_int64(change, 1, sqlite3_column_int64(indexer->select, 0));
    sqlite3_bind_text64(change, is_tool ? TOOL : SAID, indexer->words.data, indexer->words.len,
                        SQLITE_STATIC, SQLITE_UTF8);
    return ik_sqlite_execute(change);
}

/* --- the mark ---------------------------------------------------------------------------- */

static res_t set_mark(sqlite3 *db, int64_t id)
{
    sqlite3_stmt *update;
    TRY(ik_sqlite_prepare(db, "UPDATE search_mark SET id = ?1, words_version = ?2", &update));
    sqlite3_bind_int64(update, 1, id);
    sqlite3_bind_int64(update, 2, IK_TEXT_WORDS_VERSION);
    res_t done = ik_sqlite_execute(update);
    sqlite3_finalize(update);
    return done;
}

static bool is_damage(const res_t *result)
{
    return result->code == IK_ERR_DAMAGED;
}

/* FTS5 cannot open its table, not even to empty it, when the record of its structure is unreadable.
 * This writes the record of an empty index. */
static res_t write_structure(sqlite3 *db)
{
    int defensive = 1;
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, -1, &defensive);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    res_t written = ik_sqlite_run(db, "REPLACE INTO search_data VALUES(10, x'00000000000000')");
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, defensive, NULL);
    return written;
}

/* Needs a transaction, like read_mark. */
static res_t empty_index(void *data)
{
    static const char empty[] = "INSERT INTO search(search) VALUES('delete-all')";
    sqlite3 *db = data;
    res_t emptied = ik_sqlite_run(db, empty);
    if (is_damage(&emptied)) {
        TRY(write_structure(db));
        emptied = ik_sqlite_run(db, empty);
    }
    TRY(emptied);
    return set_mark(db, 0);
}

/* Outside a transaction another process may move the mark. Empties an index of another
 * IK_TEXT_WORDS_VERSION. */
static res_t read_mark(sqlite3 *db, int64_t *id)
{
    sqlite3_stmt *select;
    bool row;
    TRY(ik_sqlite_prepare(db, "SELECT id, words_version FROM search_mark", &select));
    res_t stepped = ik_sqlite_step(select, &row);
    bool found = is_ok(&stepped) && row;
    *id = found ? sqlite3_column_int64(select, 0) : 0;
    bool current = found && sqlite3_column_int64(select, 1) == IK_TEXT_WORDS_VERSION;
    sqlite3_finalize(select);
    TRY(stepped);
    if (!current) {
        *id = 0;
        return empty_index(db);
    }
    return OK;
}

/* --- indexing ---------------------------------------------------------------------------- */

typedef struct {
    indexer_t *indexer;
    size_t most; /* messages to index */
    size_t done; /* messages indexed */
    bool left;   /* there are more */
} batch_t;

static res_t index_rows(batch_t *batch, int64_t *mark)
{
    indexer_t *indexer = batch->indexer;
    size_t bytes = 0;
    batch->done = 0;
    batch->left = true;
    sqlite3_bind_int64(indexer->select, 1, *mark);
    while (batch->done < batch->most && bytes < BATCH_BYTES) {
        TRY(ik_sqlite_step(indexer->select, &batch->left));
        if (!batch->left) {
            break;
        }
        TRY(change_row(indexer));
        *mark = sqlite3_column_int64(indexer->select, 0);
        bytes += indexer->text.len;
        batch->done++;
    }
    return OK;
}

static res_t index_batch(void *data)
{
    batch_t *batch = data;
    int64_t mark;
    TRY(read_mark(batch->indexer->db, &mark));
    res_t indexed = index_rows(batch, &mark);
    sqlite3_reset(batch->indexer->select);
    TRY(indexed);
    return batch->done > 0 ? set_mark(batch->indexer->db, mark) : OK;
}

/* Takes no lock: most of the time there is nothing to do. */
static res_t is_behind(sqlite3 *db, bool *behind)
{
    sqlite3_stmt *select;
    bool row;
    TRY(ik_sqlite_prepare(db,
                          "SELECT words_version <> ?1 OR id < (SELECT max(id) FROM messages)"
                          " FROM search_mark",
                          &select));
    sqlite3_bind_int64(select, 1, IK_TEXT_WORDS_VERSION);
    res_t stepped = ik_sqlite_step(select, &row);
    *behind = is_ok(&stepped) && row && sqlite3_column_int(select, 0) != 0;
    sqlite3_finalize(select);
    return stepped;
}

static res_t index_batches(batch_t *batch, size_t most)
{
    size_t done = 0;
    do {
        batch->most = most - done < BATCH_EVENTS ? most - done : BATCH_EVENTS;
        TRY(ik_sqlite_transact(batch->indexer->db, index_batch, batch));
        done += batch->done;
    } while (batch->left && done < most);
    return OK;
}

static res_t index_most(sqlite3 *db, ik_packer_t *packer, size_t most)
{
    batch_t batch = {0};
    TRY(create_indexer(db, packer,
                       "SELECT id, kind, content, data_json FROM messages WHERE id > ?1"
                       " ORDER BY id",
                       "INSERT INTO search(rowid, tool, said) VALUES(?1, ?2, ?3)", &batch.indexer));
    res_t indexed = index_batches(&batch, most == 0 ? SIZE_MAX : most);
    talloc_free(batch.indexer);
    return indexed;
}

res_t ik_sqlite_search_index(sqlite3 *db, ik_packer_t *packer, size_t most, bool *left)
{
    TRY(is_behind(db, left));
    if (!*left) {
        return OK;
    }
    res_t indexed = index_most(db, packer, most);
    if (is_damage(&indexed)) {
        TRY(ik_sqlite_transact(db, empty_index, db));
        indexed = index_most(db, packer, most);
    }
    TRY(indexed);
    return is_behind(db, left);
}

/* --- ranking ----------------------------------------------------------------------------- */

static const char rank_name[] = "search_rank";

/* Like BM25 without document frequencies: more matches rank higher, each further one counts less,
 * and long texts count less. Text of people and models counts twice as much as text of tools. */
static double rank(const int *counts, int phrases, int words, bool said)
{
    static const double typical_words = 150;
    static const double saturation = 1.2;
    static const double weight_of_length = 0.75;
    static const double weight_of_said = 2;
    double length = 1 - weight_of_length + weight_of_length * words / typical_words;
    double sum = 0;
    for (int i = 0; i < phrases; i++) {
        sum += counts[i] / (counts[i] + saturation * length);
    }
    return said ? weight_of_said * sum : sum;
}

static void on_rank(const Fts5ExtensionApi *api, Fts5Context *row, sqlite3_context *result,
                    int argument_count, sqlite3_value **arguments)
{
    int counts[IK_WORD_QUERY_PHRASES_MAX] = {0};
    int matches = 0;
    int words = 0;
    int column = 0;
    int failed = api->xColumnSize(row, -1, &words);
    failed = failed == SQLITE_OK ? api->xInstCount(row, &matches) : failed;
    for (int i = 0; i < matches && failed == SQLITE_OK; i++) {
        int phrase;
        int offset;
        failed = api->xInst(row, i, &phrase, &column, &offset);
        if (failed == SQLITE_OK) {
            counts[phrase % IK_WORD_QUERY_PHRASES_MAX]++;
        }
    }
    if (failed != SQLITE_OK) {
        sqlite3_result_error_code(result, failed);
    } else {
        /* A message has words in one column only, so that of the last match will do. */
        sqlite3_result_double(result, rank(counts, api->xPhraseCount(row), words, column != 0));
    }
    (void)argument_count;
    (void)arguments;
}

static res_t register_rank(sqlite3 *db)
{
    fts5_api *api = NULL;
    sqlite3_stmt *select;
    bool row;
    TRY(ik_sqlite_prepare(db, "SELECT fts5(?1)", &select));
    sqlite3_bind_pointer(select, 1, &api, "fts5_api_ptr", NULL);
    res_t stepped = ik_sqlite_step(select, &row);
    sqlite3_finalize(select);
    TRY(stepped);
    if (api == NULL || api->xCreateFunction(api, rank_name, NULL, on_rank, NULL) != SQLITE_OK) {
        return ERR(SYSTEM, "SQLite was built without FTS5, which search needs");
    }
    return OK;
}

/* --- searching --------------------------------------------------------------------------- */

/* Ranks the newest matches and reads messages only for the best. The "+" keeps SQLite from turning
 * the set of a session's messages into one search per message. */
#define FIND(filter)                                                                               \
    "SELECT sessions.id, coalesce(title, ''), cwd, agent, seq, messages.created_at,"               \
    " kind, content, data_json"                                                                    \
    " FROM (SELECT id, score FROM"                                                                 \
    "   (SELECT rowid AS id, search_rank(search) AS score FROM search"                             \
    "     WHERE search MATCH ?1 " filter " ORDER BY rowid DESC LIMIT 2000)"                        \
    "   ORDER BY score DESC, id DESC LIMIT ?2) AS best"                                            \
    " CROSS JOIN messages ON messages.id = best.id"                                                \
    " CROSS JOIN sessions ON sessions.key = messages.session"                                      \
    " ORDER BY best.score DESC, best.id DESC"
#define OF_SESSION(what)                                                                           \
    "(SELECT " what " FROM messages WHERE session = (SELECT key FROM sessions WHERE id = ?3))"

static const char find_anywhere[] = FIND("");
static const char find_in_session[] = FIND("AND rowid BETWEEN " OF_SESSION(
    "min(id)") " AND " OF_SESSION("max(id)") " AND +rowid IN " OF_SESSION("id"));

/* The first search on a connection fails to prepare and registers the ranking function. */
static res_t prepare_find(sqlite3 *db, const char *sql, sqlite3_stmt **out)
{
    res_t prepared = ik_sqlite_prepare(db, sql, out);
    if (is_ok(&prepared)) {
        return OK;
    }
    TRY(register_rank(db));
    return ik_sqlite_prepare(db, sql, out);
}

typedef struct {
    const ik_word_query_t *query;
    ik_packer_t *packer;
    ik_buffer_t text;
    ik_store_hits_t *hits;
} finder_t;

static void add_hit(finder_t *finder, sqlite3_stmt *row)
{
    ik_store_hits_t *hits = finder->hits;
    ik_store_hit_t hit = {
        .session_id = ik_sqlite_copy_text(hits, row, 0),
        .title = ik_sqlite_copy_text(hits, row, 1),
        .cwd = ik_sqlite_copy_text(hits, row, 2),
        .agent = sqlite3_column_int64(row, 3),
        .seq = sqlite3_column_int64(row, 4),
        .created_us = sqlite3_column_int64(row, 5),
        .kind = ik_sqlite_copy_text(hits, row, 6),
    };
    read_text(finder->packer, row, 6, &finder->text);
    hit.snippet =
        ik_word_snippet_create(hits, finder->query, finder->text.len == 0 ? "" : finder->text.data,
                               finder->text.len, SNIPPET_BYTES);
    if ((hits->count & (hits->count + 1)) == 0) {
        hits->hits = ik_resize_array(hits, hits->hits, ik_store_hit_t, 2 * hits->count + 2);
    }
    hits->hits[hits->count++] = hit;
}

static res_t find(finder_t *finder, sqlite3 *db, const ik_store_search_t *search)
{
    sqlite3_stmt *statement;
    bool row;
    bool anywhere = search->session_id == NULL;
    TRY(prepare_find(db, anywhere ? find_anywhere : find_in_session, &statement));
    char *expression = ik_word_query_format_fts5(finder->query, finder->query);
    sqlite3_bind_text(statement, 1, expression, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, search->limit == 0 ? -1 : (int64_t)search->limit);
    if (!anywhere) {
        sqlite3_bind_text(statement, 3, search->session_id, -1, SQLITE_STATIC);
    }
    finder->hits->count = 0;
    res_t stepped = ik_sqlite_step(statement, &row);
    while (is_ok(&stepped) && row) {
        add_hit(finder, statement);
        stepped = ik_sqlite_step(statement, &row);
    }
    sqlite3_finalize(statement);
    return stepped;
}

/* Failure is ignored: when the file is locked or read-only, the newest messages are not found. */
static void catch_up(sqlite3 *db, ik_packer_t *packer)
{
    bool left;
    ik_sqlite_search_index(db, packer, CATCH_UP_EVENTS, &left);
}

/* A damaged index is emptied and filled again. */
static res_t find_or_rebuild(finder_t *finder, sqlite3 *db, const ik_store_search_t *search)
{
    catch_up(db, finder->packer);
    res_t found = find(finder, db, search);
    if (is_damage(&found)) {
        TRY(ik_sqlite_transact(db, empty_index, db));
        catch_up(db, finder->packer);
        found = find(finder, db, search);
    }
    return found;
}

res_t ik_sqlite_search_find(const void *ctx, sqlite3 *db, ik_packer_t *packer,
                            const ik_store_search_t *search, ik_store_hits_t **out)
{
    void *scratch = talloc_new(NULL);
    finder_t finder = {.query = ik_word_query_parse(scratch, search->text), .packer = packer};
    finder.hits = ik_new(ctx, ik_store_hits_t);
    ik_buffer_init(&finder.text, scratch, IK_EVENT_TEXT_MAX);
    res_t found = OK;
    if (finder.query->count > 0) {
        found = find_or_rebuild(&finder, db, search);
    }
    talloc_free(scratch);
    if (is_err(&found)) {
        talloc_free(finder.hits);
        return found;
    }
    *out = finder.hits;
    return OK;
}

/* --- removing ---------------------------------------------------------------------------- */

/* A contentless index does not know the words of a row: they must be given to delete it. */
static res_t forget_session(sqlite3 *db, ik_packer_t *packer, int64_t session)
{
    int64_t mark;
    indexer_t *indexer;
    bool row;
    TRY(read_mark(db, &mark));
    TRY(create_indexer(
        db, packer,
        "SELECT id, kind, content, data_json FROM messages WHERE session = ?1 AND id <= ?2",
        "INSERT INTO search(search, rowid, tool, said) VALUES('delete', ?1, ?2, ?3)", &indexer));
    sqlite3_bind_int64(indexer->select, 1, session);
    sqlite3_bind_int64(indexer->select, 2, mark);
    res_t stepped = ik_sqlite_step(indexer->select, &row);
    while (is_ok(&stepped) && row) {
        stepped = change_row(indexer);
        if (is_ok(&stepped)) {
            stepped = ik_sqlite_step(indexer->select, &row);
        }
    }
    talloc_free(indexer);
    return stepped;
}

res_t ik_sqlite_search_forget(sqlite3 *db, ik_packer_t *packer, int64_t session)
{
    res_t forgotten = forget_session(db, packer, session);
    return is_damage(&forgotten) ? empty_index(db) : forgotten;
}

res_t ik_sqlite_search_settle(sqlite3 *db)
{
    return ik_sqlite_run(db, "UPDATE search_mark SET id = min(id,"
                             " coalesce((SELECT max(id) FROM messages), 0))");
}

res_t ik_sqlite_search_purge(sqlite3 *db)
{
    return ik_sqlite_run(db, "INSERT INTO search(search) VALUES('optimize')");
}

res_t ik_sqlite_search_check(sqlite3 *db, bool *emptied)
{
    res_t checked = ik_sqlite_run(db, "INSERT INTO search(search) VALUES('integrity-check')");
    *emptied = is_damage(&checked);
    return *emptied ? ik_sqlite_transact(db, empty_index, db) : checked;
}

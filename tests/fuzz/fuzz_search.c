/*
 * Any text as a search and as a message, against a real FTS5 table: every search is understood, a
 * phrase is found in the index exactly when the snippet shows it, and what was put into the index
 * can be taken out of it again.
 *
 * Input: a byte for the length of the snippet and the kind of the message, the search up to a
 * newline, the text, which is also taken for the data of a message.
 */
#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "conversation/message.h"
#include "pieces.h"
#include "store/event_facts.h"
#include "store/words/event_text.h"
#include "store/words/text_words.h"
#include "store/words/word_snippet.h"

/* --- the index ---------------------------------------------------------------------------- */

static sqlite3 *db;

static sqlite3_stmt *prepare(const char *sql)
{
    sqlite3_stmt *statement;
    REQUIRE(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK);
    return statement;
}

static void open_index(void)
{
    REQUIRE(sqlite3_open(":memory:", &db) == SQLITE_OK);
    REQUIRE(sqlite3_exec(db,
                         "CREATE VIRTUAL TABLE search USING fts5(words, content='',"
                         " tokenize='ascii');"
                         "CREATE VIRTUAL TABLE vocabulary USING fts5vocab(search, row)",
                         NULL, NULL, NULL) == SQLITE_OK);
}

static void change_index(const char *sql, const ik_buffer_t *words)
{
    sqlite3_stmt *change = prepare(sql);
    sqlite3_bind_text(change, 1, words->data, (int)words->len, SQLITE_STATIC);
    REQUIRE(sqlite3_step(change) == SQLITE_DONE);
    sqlite3_finalize(change);
}

static bool is_found(const char *expression)
{
    sqlite3_stmt *select = prepare("SELECT rowid FROM search WHERE search MATCH ?1");
    sqlite3_bind_text(select, 1, expression, -1, SQLITE_STATIC);
    int stepped = sqlite3_step(select);
    REQUIRE(stepped == SQLITE_ROW || stepped == SQLITE_DONE);
    sqlite3_finalize(select);
    return stepped == SQLITE_ROW;
}

static bool is_index_empty(void)
{
    sqlite3_stmt *select = prepare("SELECT count(*) FROM vocabulary");
    REQUIRE(sqlite3_step(select) == SQLITE_ROW);
    bool empty = sqlite3_column_int64(select, 0) == 0;
    sqlite3_finalize(select);
    return empty;
}

/* --- words -------------------------------------------------------------------------------- */

typedef struct {
    const char *text;
    size_t len;
    size_t end;   /* of the last word */
    size_t place; /* asked for: whether it is inside a word */
    bool hit;
} walk_t;

static bool on_word(void *data, const ik_text_word_t *word)
{
    walk_t *walk = data;
    REQUIRE(word->len > 0 && word->len <= IK_TEXT_WORD_MAX && word->source_len > 0);
    REQUIRE(word->offset >= walk->end && word->offset + word->source_len <= walk->len);
    REQUIRE(ik_utf8_valid(word->word, word->len));
    for (size_t i = 0; i < word->len; i++) {
        unsigned char c = (unsigned char)word->word[i];
        REQUIRE(c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'));
    }
    walk->end = word->offset + word->source_len;
    walk->hit = walk->hit || (walk->place > word->offset && walk->place < walk->end);
    return true;
}

static bool is_inside_word(const char *text, size_t place)
{
    walk_t walk = {.text = text, .len = strlen(text), .place = place};
    ik_text_words(text, walk.len, on_word, &walk);
    return walk.hit;
}

/* --- snippets ----------------------------------------------------------------------------- */

static void check_snippet(const ik_store_snippet_t *snippet, size_t max)
{
    size_t len = strlen(snippet->text);
    size_t at = 0;
    pieces_require_line(snippet->text);
    REQUIRE(len <= 3 * max + 6); /* a bad byte takes three */
    for (size_t i = 0; i < snippet->count; i++) {
        const ik_store_mark_t *mark = &snippet->marks[i];
        REQUIRE(mark->offset >= at && mark->len > 0 && mark->offset + mark->len <= len);
        at = mark->offset + mark->len;
        REQUIRE(!is_inside_word(snippet->text, mark->offset));
        REQUIRE(!is_inside_word(snippet->text, at));
    }
}

static void check_search(const void *ctx, const ik_word_query_t *query, const char *text,
                         size_t len)
{
    if (query->count == 0) {
        return;
    }
    bool found = is_found(ik_word_query_format_fts5(ctx, query));
    bool all = true;
    for (size_t i = 0; i < query->count; i++) {
        ik_word_query_t one = {.phrases = &query->phrases[i], .count = 1};
        bool phrase_found = is_found(ik_word_query_format_fts5(ctx, &one));
        REQUIRE(phrase_found == (ik_word_snippet_create(ctx, &one, text, len, len).count > 0));
        all = all && phrase_found;
    }
    REQUIRE(found == all);
}

/* --- events ------------------------------------------------------------------------------- */

static void check_event(const void *ctx, const ik_store_event_t *event)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    ik_event_text_append(&text, event);
    REQUIRE(text.len <= IK_EVENT_TEXT_MAX);
    ik_event_facts_t facts = ik_event_facts(ctx, event);
    REQUIRE(facts.answer == (facts.model != NULL));
    REQUIRE(facts.model == NULL || ik_utf8_valid(facts.model, strlen(facts.model)));
    if (facts.title != NULL) {
        pieces_require_line(facts.title);
        REQUIRE(facts.title[0] != '\0' && facts.title[0] != ' ');
        REQUIRE(facts.title[strlen(facts.title) - 1] != ' ');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const kinds[] = {IK_MSG_USER, IK_MSG_ASSISTANT, IK_MSG_TOOL_CALL,
                                        IK_MSG_TOOL_RESULT};
    if (size < 1) {
        return 0;
    }
    if (db == NULL) {
        open_index();
    }
    void *ctx = talloc_new(NULL);
    char *search = ik_strndup(ctx, (const char *)bytes + 1, size - 1);
    char *newline = strchr(search, '\n');
    size_t search_len = newline == NULL ? strlen(search) : (size_t)(newline - search);
    search[search_len] = '\0';
    size_t len = size - 1 - search_len;
    char *text = pieces_copy(bytes + 1 + search_len, len);

    const ik_word_query_t *query = ik_word_query_parse(ctx, search);
    ik_store_snippet_t snippet = ik_word_snippet_create(ctx, query, text, len, bytes[0]);
    check_snippet(&snippet, bytes[0]);
    ik_buffer_t words;
    ik_buffer_init(&words, ctx, IK_BUFFER_UNLIMITED);
    ik_text_words_append(&words, text, len);
    change_index("INSERT INTO search(rowid, words) VALUES(1, ?1)", &words);
    check_search(ctx, query, text, len);
    change_index("INSERT INTO search(search, rowid, words) VALUES('delete', 1, ?1)", &words);
    REQUIRE(is_index_empty());

    char *terminated = ik_strndup(ctx, text, len);
    check_event(ctx, &(ik_store_event_t){.kind = kinds[bytes[0] % 4],
                                         .content = terminated,
                                         .data_json = terminated});
    free(text);
    talloc_free(ctx);
    return 0;
}

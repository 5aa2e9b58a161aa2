#include "store/sqlite/sqlite_search.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/file.h"
#include "conversation/message.h"
#include "scratch.h"
#include "store/sqlite/sqlite_link.h"
#include "store/sqlite/sqlite_schema.h"
#include "store/words/event_text.h"
#include "store/words/text_words.h"

static void *ctx;
static sqlite3 *db;
static ik_packer_t *packer;

static void run(const char *sql)
{
    res_t done = ik_sqlite_run(db, sql);
    ck_assert_msg(is_ok(&done), "%s: %s", sql, done.message);
}

static int64_t number(const char *sql)
{
    sqlite3_stmt *select;
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &select, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(select), SQLITE_ROW);
    int64_t result = sqlite3_column_int64(select, 0);
    sqlite3_finalize(select);
    return result;
}

static sqlite3 *open_file(void)
{
    sqlite3 *opened;
    res_t done = ik_sqlite_open(scratch_path("history.db"), &opened);
    ck_assert_msg(is_ok(&done), "%s", done.message);
    return opened;
}

static void set_up(void)
{
    scratch_empty();
    ctx = talloc_new(NULL);
    packer = ik_packer_create(ctx);
    db = open_file();
    res_t migrated = ik_sqlite_schema_migrate(db);
    ck_assert_msg(is_ok(&migrated), "%s", migrated.message);
    run("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, search, row)");
}

static void tear_down(void)
{
    sqlite3_close(db);
    talloc_free(ctx);
}

/* --- a history --------------------------------------------------------------------------- */

/* Sessions are called 1, 2, 3 … here and by sixteen of that digit in the store. */
static const char *session_id(int session)
{
    char *id = ik_strdup(ctx, "0000000000000000");
    memset(id, '0' + session, IK_STORE_ID_LEN);
    return id;
}

static void add_session(int session)
{
    char *sql = sqlite3_mprintf("INSERT OR IGNORE INTO sessions(key, id, cwd, host, model, title,"
                                " created_at, updated_at)"
                                " VALUES(%d, %Q, '/home/%d', 'h', 'p/m', 'title %d', 1, 1);"
                                "INSERT OR IGNORE INTO agents(session, number, created_at)"
                                " VALUES(%d, 1, 1)",
                                session, session_id(session), session, session, session);
    run(sql);
    sqlite3_free(sql);
}

/* Returns its seq. */
static int64_t add(int session, const char *kind, const char *content, const char *data_json)
{
    sqlite3_stmt *insert;
    add_session(session);
    res_t prepared = ik_sqlite_prepare(
        db,
        "INSERT INTO messages(session, agent, seq, kind, content, data_json, created_at)"
        " SELECT ?1, 1, coalesce(max(seq), 0) + 1, ?2, ?3, ?4, 1000 + coalesce(max(seq), 0)"
        " FROM messages WHERE session = ?1 RETURNING seq",
        &insert);
    ck_assert_msg(is_ok(&prepared), "%s", prepared.message);
    sqlite3_bind_int(insert, 1, session);
    sqlite3_bind_text(insert, 2, kind, -1, SQLITE_STATIC);
    ik_packed_text_bind(packer, insert, 3, content);
    ik_packed_text_bind(packer, insert, 4, data_json);
    ck_assert_int_eq(sqlite3_step(insert), SQLITE_ROW);
    int64_t seq = sqlite3_column_int64(insert, 0);
    sqlite3_finalize(insert);
    return seq;
}

static int64_t say(int session, const char *text)
{
    return add(session, IK_MSG_USER, text, NULL);
}

static int64_t add_result(int session, const char *output)
{
    const char *envelope = ik_sprintf(ctx, "{\"result\":\"%s\"}", output);
    ik_msg_result_t result = {.call_id = "c", .name = "bash", .output = envelope, .wall_ms = -1};
    const ik_msg_t *message = ik_msg_create_result(ctx, &result);
    return add(session, message->kind, message->content, message->data_json);
}

/* So many messages, which all say the same and a number of their own. */
static void say_often(int session, const char *text, int times)
{
    run("BEGIN");
    for (int i = 0; i < times; i++) {
        say(session, ik_sprintf(ctx, "%s n%d", text, i));
    }
    run("COMMIT");
}

/* --- asking ------------------------------------------------------------------------------ */

static bool index_some(size_t most)
{
    bool left;
    res_t indexed = ik_sqlite_search_index(db, packer, most, &left);
    ck_assert_msg(is_ok(&indexed), "%s", indexed.message);
    return left;
}

static ik_store_hits_t *find_in(const char *text, const char *session, size_t limit)
{
    ik_store_search_t search = {.text = text, .session_id = session, .limit = limit};
    ik_store_hits_t *hits;
    res_t found = ik_sqlite_search_find(ctx, db, packer, &search, &hits);
    ck_assert_msg(is_ok(&found), "%s", found.message);
    return hits;
}

/* "1/3 2/1": session and seq of the hits in order. */
static const char *places(const ik_store_hits_t *hits)
{
    char *text = ik_strdup(ctx, "");
    for (size_t i = 0; i < hits->count; i++) {
        text = ik_sprintf(ctx, "%s%s%c/%lld", text, i == 0 ? "" : " ", hits->hits[i].session_id[0],
                          (long long)hits->hits[i].seq);
    }
    return text;
}

static const char *find(const char *text)
{
    return places(find_in(text, NULL, 20));
}

/* In how many messages the index has a word. */
static int64_t indexed(const char *word)
{
    return number(
        ik_sprintf(ctx, "SELECT coalesce(sum(doc), 0) FROM vocabulary WHERE term = '%s'", word));
}

/* --- finding ----------------------------------------------------------------------------- */

START_TEST(a_hit_says_where_it_is)
{
    say(1, "nothing");
    say(2, "Where is the Größe of the store?");
    const ik_store_hits_t *hits = find_in("grosse", NULL, 20);
    ck_assert_uint_eq(hits->count, 1);
    const ik_store_hit_t *hit = &hits->hits[0];
    ck_assert_str_eq(hit->session_id, "2222222222222222");
    ck_assert_str_eq(hit->title, "title 2");
    ck_assert_str_eq(hit->cwd, "/home/2");
    ck_assert_int_eq(hit->agent, 1);
    ck_assert_int_eq(hit->seq, 1);
    ck_assert_int_eq(hit->created_us, 1000);
    ck_assert_str_eq(hit->kind, IK_MSG_USER);
    ck_assert_str_eq(hit->snippet.text, "Where is the Größe of the store?");
    ck_assert_uint_eq(hit->snippet.count, 1);
    ck_assert_uint_eq(hit->snippet.marks[0].offset, strlen("Where is the "));
    ck_assert_uint_eq(hit->snippet.marks[0].len, strlen("Größe"));
}
END_TEST

START_TEST(words_of_all_kinds)
{
    add(1, IK_MSG_SYSTEM, "zebra", NULL);
    add(1, IK_MSG_USER, "apple", NULL);
    add(1, IK_MSG_ASSISTANT, "pear", "{\"reasoning\":\"plum\"}");
    add(1, IK_MSG_TOOL_CALL, "bash()",
        "{\"function\":{\"name\":\"bash\",\"arguments\":\"{\\\"x\\\":\\\"cherry\\\"}\"}}");
    add_result(1, "a\\nfig");
    ck_assert_str_eq(find("zebra"), "");
    ck_assert_str_eq(find("apple"), "1/2");
    ck_assert_str_eq(find("pear plum"), "1/3");
    ck_assert_str_eq(find("bash cherry"), "1/4");
    ck_assert_str_eq(find("fig"), "1/5");
}
END_TEST

START_TEST(phrases_and_beginnings)
{
    say(1, "the store is open");
    say(1, "open the store");
    say(1, "call ik_store_open(path)");
    ck_assert_str_eq(find("store_open"), "1/3");
    ck_assert_str_eq(find("\"the store\" is"), "1/1");
    ck_assert_str_eq(find("cal*"), "1/3");
    ck_assert_str_eq(find("\"open the sto*\""), "1/2");
    ck_assert_str_eq(find("cal"), "");
}
END_TEST

START_TEST(anything_is_a_search)
{
    static const char *const texts[] = {"",   "\"",    "*",         "AND",   "NOT (", "a\"b",
                                        "^x", "x : y", "NEAR(a b)", "-a +b", "'; --", "\xff\xfe"};
    say(1, "some words");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        ck_assert_str_eq(find(texts[i]), "");
    }
}
END_TEST

START_TEST(long_messages_are_unpacked)
{
    char *text = ik_new_array(ctx, char, 200001);
    memset(text, ' ', 200000);
    memcpy(text, "begin", 5);
    memcpy(text + 100000, "middle", 6);
    memcpy(text + 190000, "beyond", 6);
    say(1, text);
    ck_assert_str_eq(find("begin"), "1/1");
    const ik_store_hits_t *hits = find_in("middle", NULL, 20);
    ck_assert_uint_eq(hits->count, 1);
    ck_assert_str_eq(hits->hits[0].snippet.text, "…middle…");
    ck_assert_str_eq(find("beyond"), "");
}
END_TEST

/* --- ranking ----------------------------------------------------------------------------- */

#define FILLER "a b c d e f g h i j k l m n o p q r s t u v w x y z "

START_TEST(more_and_denser_matches_first)
{
    say(1, FILLER FILLER "store");
    say(1, "store " FILLER "store " FILLER "store");
    say(1, FILLER FILLER FILLER FILLER FILLER FILLER "store");
    say(1, "store");
    say(1, "nothing");
    ck_assert_str_eq(find("store"), "1/2 1/4 1/1 1/3");
}
END_TEST

START_TEST(what_was_said_before_what_tools_wrote)
{
    add(1, IK_MSG_ASSISTANT, FILLER "store", NULL);
    add_result(1, FILLER "store store");
    ck_assert_str_eq(find("store"), "1/1 1/2");
}
END_TEST

START_TEST(equal_ones_by_age)
{
    say(1, "the store");
    say(2, "the store");
    say(1, "the store");
    ck_assert_str_eq(find("store"), "1/2 2/1 1/1");
}
END_TEST

START_TEST(as_many_as_wanted)
{
    say_often(1, "store", 30);
    ck_assert_uint_eq(find_in("store", NULL, 7)->count, 7);
    ck_assert_uint_eq(find_in("store", NULL, 0)->count, 30);
}
END_TEST

/* The best match is older than the matches that are ranked; a rare word finds it. */
START_TEST(frequent_words_find_the_newest)
{
    say(1, "store store rare");
    say_often(2, "store", 2000);
    const ik_store_hits_t *hits = find_in("store", NULL, 1);
    ck_assert_str_eq(places(hits), "2/2000");
    ck_assert_str_eq(find("store rare"), "1/1");
}
END_TEST

/* --- one session ------------------------------------------------------------------------- */

START_TEST(in_one_session)
{
    say(1, "store one");
    say(2, "store two");
    say(1, "store three");
    say(3, "store four");
    say(2, "nothing");
    ck_assert_str_eq(places(find_in("store", session_id(1), 20)), "1/2 1/1");
    ck_assert_str_eq(places(find_in("store", session_id(2), 20)), "2/1");
    ck_assert_str_eq(places(find_in("two", session_id(1), 20)), "");
    ck_assert_str_eq(places(find_in("store", session_id(9), 20)), "");
    ck_assert_str_eq(places(find_in("store", "", 20)), "");
}
END_TEST

/* Those of others do not use up what is ranked. */
START_TEST(an_old_session_between_new_messages)
{
    say(1, "store first");
    say_often(2, "store", 2500);
    say(1, "nothing");
    ck_assert_str_eq(places(find_in("store", session_id(1), 20)), "1/1");
}
END_TEST

/* --- the index --------------------------------------------------------------------------- */

START_TEST(it_is_filled_in_pieces)
{
    say_often(1, "store", 1203);
    ck_assert(index_some(700));
    ck_assert_int_eq(indexed("store"), 700);
    ck_assert_int_eq(number("SELECT id FROM search_mark"), 700);
    ck_assert(index_some(1));
    ck_assert_int_eq(indexed("store"), 701);
    ck_assert(!index_some(502));
    ck_assert_int_eq(indexed("store"), 1203);
    say_often(1, "more", 1100);
    ck_assert(!index_some(0));
    ck_assert_int_eq(indexed("more"), 1100);
}
END_TEST

START_TEST(nothing_to_do_writes_nothing)
{
    say(1, "store");
    ck_assert(!index_some(0));
    int64_t version = number("PRAGMA data_version");
    int changes = sqlite3_total_changes(db);
    sqlite3 *other = open_file();
    ck_assert_int_eq(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    ck_assert(!index_some(0));
    ck_assert_str_eq(find("store"), "1/1");
    ck_assert_int_eq(sqlite3_total_changes(db), changes);
    ck_assert_int_eq(number("PRAGMA data_version"), version);
    sqlite3_close(other);
}
END_TEST

static int on_commit(void *data)
{
    ++*(int *)data;
    return 0;
}

/* Others wait for the end of each. */
START_TEST(transactions_are_short)
{
    int commits = 0;
    char *text = ik_new_array(ctx, char, IK_EVENT_TEXT_MAX + 1);
    for (size_t i = 0; i < IK_EVENT_TEXT_MAX; i++) {
        text[i] = i % 8 == 7 ? ' ' : 'w';
    }
    for (int i = 0; i < 9; i++) {
        say(1, text);
    }
    sqlite3_commit_hook(db, on_commit, &commits);
    ck_assert(!index_some(0));
    ck_assert_int_ge(commits, 3);
    ck_assert_int_eq(indexed("wwwwwww"), 9);
    say_often(1, "store", 1100);
    commits = 0;
    ck_assert(!index_some(0));
    ck_assert_int_ge(commits, 3);
    ck_assert_int_le(commits, 30);
}
END_TEST

/* Two programs at once: every message is in it exactly once. */
START_TEST(two_programs_fill_it_together)
{
    enum { MESSAGES = 3000 };
    say_often(1, "store", MESSAGES);
    sqlite3_close(db);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    db = open_file();
    sqlite3_busy_timeout(db, 60000);
    while (index_some(7)) {
    }
    if (child == 0) {
        tear_down();
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    run("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, search, row)");
    ck_assert_int_eq(indexed("store"), MESSAGES);
    ck_assert_int_eq(number("SELECT cnt FROM vocabulary WHERE term = 'store'"), MESSAGES);
    ck_assert_int_eq(number("SELECT id FROM search_mark"), MESSAGES);
}
END_TEST

START_TEST(another_rule_for_words_begins_it_anew)
{
    say(1, "store");
    index_some(0);
    run("INSERT INTO search(rowid, tool) VALUES(77, 'outdated')");
    run("UPDATE search_mark SET words_version = 0");
    ck_assert_str_eq(find("store"), "1/1");
    ck_assert_int_eq(indexed("outdated"), 0);
    ck_assert_int_eq(indexed("store"), 1);
    ck_assert_int_eq(number("SELECT words_version FROM search_mark"), IK_TEXT_WORDS_VERSION);
}
END_TEST

START_TEST(a_locked_file_is_searched_as_it_is)
{
    say(1, "store one");
    index_some(0);
    say(1, "store two");
    sqlite3 *other = open_file();
    ck_assert_int_eq(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_busy_timeout(db, 1);
    ck_assert_str_eq(find("store"), "1/1");
    sqlite3_close(other);
    ck_assert_str_eq(find("store"), "1/2 1/1");
}
END_TEST

START_TEST(a_file_that_may_not_be_written_is_searched)
{
    say(1, "store one");
    index_some(0);
    say(1, "store two");
    run("PRAGMA query_only = ON");
    ck_assert_str_eq(find("store"), "1/1");
}
END_TEST

START_TEST(a_message_that_cannot_be_read_is_passed_over)
{
    say(1, "store one");
    say(1, "store two");
    say(1, "store three");
    run("UPDATE messages SET content = x'00010203' WHERE seq = 2");
    ck_assert_str_eq(find("store"), "1/3 1/1");
    ck_assert_int_eq(number("SELECT id FROM search_mark"), 3);
    run("UPDATE messages SET content = x'00010203' WHERE seq = 3");
    const ik_store_hits_t *hits = find_in("store", NULL, 20);
    ck_assert_str_eq(places(hits), "1/3 1/1");
    ck_assert_str_eq(hits->hits[0].snippet.text, "");
}
END_TEST

/* --- forgetting -------------------------------------------------------------------------- */

/* As the store does it. */
static void forget(int session)
{
    run("BEGIN IMMEDIATE");
    res_t forgotten = ik_sqlite_search_forget(db, packer, session);
    ck_assert_msg(is_ok(&forgotten), "%s", forgotten.message);
    run(ik_sprintf(ctx, "DELETE FROM messages WHERE session = %d", session));
    run(ik_sprintf(ctx, "DELETE FROM sessions WHERE key = %d", session));
    res_t settled = ik_sqlite_search_settle(db);
    ck_assert_msg(is_ok(&settled), "%s", settled.message);
    run("COMMIT");
}

START_TEST(a_session_is_forgotten)
{
    say(1, "store secret");
    say(2, "store public");
    add_result(1, "store secret Größe");
    add(1, IK_MSG_SYSTEM, "store", NULL);
    index_some(0);
    say(1, "store secret not indexed");
    forget(1);
    ck_assert_int_eq(indexed("secret"), 0);
    ck_assert_int_eq(indexed("grosse"), 0);
    ck_assert_int_eq(indexed("store"), 1);
    ck_assert_str_eq(find("store"), "2/1");
    ck_assert_str_eq(find("secret"), "");
}
END_TEST

START_TEST(numbers_that_are_given_again)
{
    say(1, "one");
    say(2, "two");
    say(2, "three");
    index_some(0);
    forget(2);
    ck_assert_int_eq(number("SELECT id FROM search_mark"), 1);
    say(3, "four");
    ck_assert_int_eq(number("SELECT max(id) FROM messages"), 2);
    ck_assert_str_eq(find("four"), "3/1");
    ck_assert_str_eq(find("two"), "");
    forget(1);
    forget(3);
    ck_assert_int_eq(number("SELECT id FROM search_mark"), 0);
    ck_assert_int_eq(number("SELECT count(*) FROM vocabulary"), 0);
    say(4, "five");
    ck_assert_str_eq(find("five"), "4/1");
}
END_TEST

START_TEST(an_outdated_index_forgets_all)
{
    say(1, "one");
    say(2, "two");
    index_some(0);
    run("UPDATE search_mark SET words_version = 0");
    forget(1);
    ck_assert_int_eq(number("SELECT count(*) FROM vocabulary"), 0);
    ck_assert_str_eq(find("two"), "2/1");
}
END_TEST

static bool file_holds(const char *word)
{
    char *bytes;
    size_t len;
    res_t read = ik_file_read(ctx, scratch_path("history.db"), 1 << 24, &bytes, &len);
    ck_assert_msg(is_ok(&read), "%s", read.message);
    return memmem(bytes, len, word, strlen(word)) != NULL;
}

START_TEST(forgotten_words_leave_the_file)
{
    say_often(1, "open", 40);
    index_some(0);
    say(2, "xyzzysecret");
    index_some(0);
    run("PRAGMA wal_checkpoint(TRUNCATE)");
    ck_assert(file_holds("xyzzysecret"));
    run("PRAGMA secure_delete = ON");
    forget(2);
    res_t purged = ik_sqlite_search_purge(db);
    ck_assert_msg(is_ok(&purged), "%s", purged.message);
    run("PRAGMA wal_checkpoint(TRUNCATE)");
    ck_assert(!file_holds("xyzzysecret"));
    ck_assert_uint_eq(find_in("open", NULL, 0)->count, 40);
}
END_TEST

/* --- damage ------------------------------------------------------------------------------ */

/* What a bad block, or a bug, may leave of the tables below the index. The last is not seen by who
 * searches. */
static const char *const damages[] = {
    "UPDATE search_docsize SET sz = x'ffffff'",
    "DELETE FROM search_docsize",
    "UPDATE search_data SET block = x'ffffffffffffffffffff' WHERE id > 10",
    "DELETE FROM search_data WHERE id > 10",
    "UPDATE search_data SET block = x'00000000ffffffffff' WHERE id = 10",
    "DELETE FROM search_data WHERE id = 10",
    "UPDATE search_data SET block = zeroblob(length(block)) WHERE id > 10",
};
enum { DAMAGES = sizeof(damages) / sizeof(damages[0]), SEEN = DAMAGES - 1, CONTRADICTIONS = 2 };

static void damage(const char *sql)
{
    /* In a connection of its own: the index keeps a copy of its structure. */
    sqlite3 *other = open_file();
    sqlite3_db_config(other, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    ck_assert_int_eq(sqlite3_exec(other, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    sqlite3_close(db);
    db = open_file();
}

static void fill_and_damage(const char *sql)
{
    say_often(1, "store words of many kinds", 300);
    say(2, "the last one");
    index_some(0);
    damage(sql);
}

START_TEST(a_damaged_index_is_made_anew)
{
    fill_and_damage(damages[_i]);
    ck_assert_uint_eq(find_in("store", NULL, 0)->count, 300);
    ck_assert_str_eq(find("last"), "2/1");
    say(2, "behind the damage");
    ck_assert_str_eq(find("damage"), "2/2");
}
END_TEST

/* In many pieces, which FTS5 puts together with the damaged ones. */
START_TEST(a_damaged_index_does_not_stop_the_next_words)
{
    fill_and_damage(damages[_i]);
    say_often(3, "behind the damage", 40);
    while (index_some(1)) {
    }
    ck_assert_uint_eq(find_in("damage", NULL, 0)->count, 40);
    ck_assert_uint_eq(find_in("store", NULL, 0)->count, 300);
}
END_TEST

START_TEST(a_damaged_index_does_not_stop_forgetting)
{
    fill_and_damage(damages[_i]);
    forget(1);
    ck_assert_str_eq(find("store"), "");
    ck_assert_str_eq(find("last"), "2/1");
}
END_TEST

START_TEST(a_check_finds_damage)
{
    bool emptied;
    fill_and_damage(damages[_i]);
    res_t checked = ik_sqlite_search_check(db, &emptied);
    ck_assert_msg(is_ok(&checked), "%s", checked.message);
    ck_assert(emptied);
    ck_assert_uint_eq(find_in("store", NULL, 0)->count, 300);
    checked = ik_sqlite_search_check(db, &emptied);
    ck_assert(is_ok(&checked) && !emptied);
    ck_assert_str_eq(find("last"), "2/1");
}
END_TEST

/* ----------------------------------------------------------------------------------------- */

static void add_finding(TCase *tests)
{
    tcase_add_test(tests, a_hit_says_where_it_is);
    tcase_add_test(tests, words_of_all_kinds);
    tcase_add_test(tests, phrases_and_beginnings);
    tcase_add_test(tests, anything_is_a_search);
    tcase_add_test(tests, long_messages_are_unpacked);
    tcase_add_test(tests, more_and_denser_matches_first);
    tcase_add_test(tests, what_was_said_before_what_tools_wrote);
    tcase_add_test(tests, equal_ones_by_age);
    tcase_add_test(tests, as_many_as_wanted);
    tcase_add_test(tests, frequent_words_find_the_newest);
    tcase_add_test(tests, in_one_session);
    tcase_add_test(tests, an_old_session_between_new_messages);
}

static void add_indexing(TCase *tests)
{
    tcase_add_test(tests, it_is_filled_in_pieces);
    tcase_add_test(tests, nothing_to_do_writes_nothing);
    tcase_add_test(tests, transactions_are_short);
    tcase_add_test(tests, two_programs_fill_it_together);
    tcase_add_test(tests, another_rule_for_words_begins_it_anew);
    tcase_add_test(tests, a_locked_file_is_searched_as_it_is);
    tcase_add_test(tests, a_file_that_may_not_be_written_is_searched);
    tcase_add_test(tests, a_message_that_cannot_be_read_is_passed_over);
    tcase_add_test(tests, a_session_is_forgotten);
    tcase_add_test(tests, numbers_that_are_given_again);
    tcase_add_test(tests, an_outdated_index_forgets_all);
    tcase_add_test(tests, forgotten_words_leave_the_file);
}

int main(void)
{
    Suite *suite = suite_create("sqlite_search");
    TCase *tests = tcase_create("sqlite_search");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    add_finding(tests);
    add_indexing(tests);
    tcase_add_loop_test(tests, a_damaged_index_is_made_anew, 0, SEEN);
    tcase_add_loop_test(tests, a_damaged_index_does_not_stop_the_next_words, 0, SEEN);
    tcase_add_loop_test(tests, a_damaged_index_does_not_stop_forgetting, 0, SEEN);
    tcase_add_loop_test(tests, a_check_finds_damage, CONTRADICTIONS, DAMAGES);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}

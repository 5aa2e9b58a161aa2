/* Tests of searching in both kinds of stores: what is found, in which order, and the snippets. */
#include "store_backend.h"
#include "store_log.h"

static void *ctx;
static backend_t backend;
static ik_store_t *store;
static int64_t last_seq;

static void set_up(backend_t which)
{
    backend_empty();
    ctx = talloc_new(NULL);
    backend = which;
    store = backend_open(ctx, which);
    log_assert_ok(log_begin(store, LOG_ID));
    last_seq = 0;
}

static void set_up_sqlite(void)
{
    set_up(BACKEND_SQLITE);
}

static void set_up_postgres(void)
{
    set_up(BACKEND_POSTGRES);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static int64_t add(const char *kind, const char *content, const char *data_json)
{
    log_assert_ok(log_write_one(store, log_event(LOG_ID, ++last_seq, kind, content, data_json)));
    return last_seq;
}

static int64_t say(const char *words)
{
    return add("user", words, NULL);
}

static ik_store_hits_t *search(const char *text)
{
    ik_store_hits_t *hits = NULL;
    log_assert_ok(
        ik_store_search(ctx, store, &(ik_store_search_t){.text = text, .limit = 100}, &hits));
    return hits;
}

/* Checks that exactly these events are found, by seq, in any order. */
static void check_found(const char *text, const char *expected)
{
    ik_store_hits_t *hits = search(text);
    ik_buffer_t found;
    ik_buffer_init(&found, ctx, IK_BUFFER_UNLIMITED);
    for (int64_t seq = 1; seq <= last_seq; seq++) {
        for (size_t i = 0; i < hits->count; i++) {
            if (hits->hits[i].seq == seq) {
                ik_buffer_append_format(&found, " %" PRId64, seq);
            }
        }
    }
    const char *text_found = found.data == NULL ? "" : found.data;
    ck_assert_msg(strcmp(text_found, expected) == 0, "'%s' found%s, not%s", text, text_found,
                  expected);
}

/* --- what is found ----------------------------------------------------------------------- */

START_TEST(words_that_are_all_there)
{
    say("the quick brown fox");
    say("the lazy dog");
    say("a quick dog, and lazy");
    check_found("quick", " 1 3");
    check_found("dog", " 2 3");
    check_found("quick dog", " 3");
    check_found("dog quick", " 3");
    check_found("the", " 1 2");
    check_found("cat", "");
    check_found("quick cat", "");
    check_found("qui", "");
    check_found("ick", "");
    check_found("dog dog", " 2 3");
}
END_TEST

START_TEST(words_next_to_each_other)
{
    say("the quick brown fox");
    say("brown and quick");
    say("quick\n\tbrown");
    check_found("quick brown", " 1 2 3");
    check_found("\"quick brown\"", " 1 3");
    check_found("\"brown quick\"", "");
    check_found("\"quick brown\" fox", " 1");
    check_found("quick-brown", " 1 3");
}
END_TEST

START_TEST(names_of_programs)
{
    say("call ik_store_open(path) in src/store/store.c");
    say("open the store of ik");
    check_found("ik_store_open", " 1");
    check_found("store_open", " 1");
    check_found("store", " 1 2");
    check_found("store.c", " 1");
    check_found("src/store", " 1");
    check_found("open_store", "");
    check_found("ik_store_open(path)", " 1");
}
END_TEST

START_TEST(beginnings_of_words)
{
    say("compaction of contexts");
    say("a compact form");
    check_found("compact", " 2");
    check_found("compact*", " 1 2");
    check_found("comp* cont*", " 1");
    check_found("\"of cont*\"", " 1");
    check_found("c*", " 1 2");
    check_found("x*", "");
}
END_TEST

START_TEST(case_and_marks_do_not_matter)
{
    say("Die Gr\xc3\xb6\xc3\x9f"
        "e der STRASSE im Caf\xc3\xa9");
    say("\xce\x91\xce\xb8\xce\xae\xce\xbd\xce\xb1 "
        "\xd0\x9c\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0");
    check_found("gr\xc3\xb6\xc3\x9f"
                "e",
                " 1");
    check_found("GROSSE", " 1");
    check_found("grosse", " 1");
    check_found("stra\xc3\x9f"
                "e",
                " 1");
    check_found("cafe", " 1");
    check_found("CAFE\xcc\x81", " 1");
    check_found("\xce\xb1\xce\xb8\xce\xb7\xce\xbd\xce\xb1", " 2");
    check_found("\xd0\xbc\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0", " 2");
}
END_TEST

START_TEST(writing_without_spaces)
{
    say("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe3\x81\xae\xe3\x83\x86\xe3\x82\xb9\xe3\x83\x88");
    check_found("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", " 1");
    check_found("\xe6\x9c\xac", " 1");
    check_found("\xe3\x83\x86\xe3\x82\xb9\xe3\x83\x88", " 1");
    check_found("\xe6\x9c\xac\xe6\x97\xa5", "");
}
END_TEST

START_TEST(words_that_mean_something_to_a_database)
{
    say("this AND that OR those, NOT near");
    say("NEAR col: x^2 it's 100% the of and a");
    check_found("AND", " 1 2");
    check_found("NOT near", " 1");
    check_found("OR those", " 1");
    check_found("the", " 2"); /* no word is too common */
    check_found("it's", " 2");
    check_found("100%", " 2");
    check_found("col:", " 2");
}
END_TEST

START_TEST(calls_and_results_are_searched_as_people_read_them)
{
    add("tool_call", "glob(pattern=\"*.c\")",
        "{\"id\":\"call_zebra\",\"type\":\"function\",\"function\":{\"name\":\"glob\","
        "\"arguments\":\"{\\\"pattern\\\":\\\"needles\\\\nin haystacks\\\"}\"}}");
    add("tool_result", "1 file",
        "{\"tool_call_id\":\"call_zebra\",\"name\":\"glob\",\"success\":true,\"output\":"
        "\"{\\\"tool_success\\\":true,\\\"result\\\":{\\\"output\\\":\\\"giraffe\\\\nok\\\"}}\"}");
    add("assistant", "an answer", "{\"model\":\"p/unseen\",\"reasoning\":\"hidden\"}");
    add("system", "secret prompt", NULL);
    add("compaction", "12 tool results removed", "{\"trimmed_results\":12}");
    check_found("haystacks", " 1");
    check_found("needles", " 1");
    check_found("glob needles", " 1");
    check_found("giraffe", " 2");
    check_found("answer", " 3");
    check_found("zebra", "");
    check_found("prompt", "");
    check_found("removed", "");
}
END_TEST

START_TEST(long_texts_are_searched)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    for (int i = 0; i < 10000; i++) {
        ik_buffer_append_format(&text, "w%d ", i);
    }
    ik_buffer_append_text(&text, "needle");
    say(text.data);
    say("w1 without");
    check_found("needle", " 1");
    check_found("w9999", " 1");
    check_found("w1", " 1 2");
    memset(text.data, 'x', text.len); /* one word of any length */
    say(text.data);
    check_found("needle", " 1");
}
END_TEST

START_TEST(a_large_text_is_no_burden)
{
    enum { SIZE = 3 << 20 };
    char *text = ik_new_array(ctx, char, SIZE + 1);
    uint32_t noise = 3;
    for (size_t i = 0; i < SIZE; i++) {
        noise = noise * 1664525 + 1013904223;
        text[i] = i % 8 == 7 ? ' ' : (char)('a' + (noise >> 24) % 26); /* no word twice */
    }
    memcpy(text, "needle ", 7);
    say(text);
    check_found("needle", " 1");
}
END_TEST

START_TEST(what_was_written_meanwhile_is_found)
{
    ik_store_t *second = backend_open(ctx, backend);
    say("first needle");
    check_found("needle", " 1");
    log_assert_ok(
        log_write_one(second, log_event(LOG_ID, ++last_seq, "user", "second needle", NULL)));
    check_found("needle", " 1 2");
    talloc_free(second);
    say("third needle");
    check_found("needle", " 1 2 3");
}
END_TEST

/* --- any input --------------------------------------------------------------------------- */

START_TEST(any_text_is_a_search)
{
    static const char *const texts[] = {
        "\"",
        "\"\"",
        "\"\"\"",
        "'",
        "''",
        "*",
        "**",
        "a*b*",
        "\"a*\"*",
        "\"a",
        "a\"",
        "AND",
        "a AND",
        "OR OR",
        "NOT",
        "NOT a",
        "a NOT",
        "NEAR",
        "NEAR(",
        "NEAR(a b)",
        "^a",
        "a:b",
        ":",
        "{a b}:c",
        "-a",
        "+a",
        "(",
        ")",
        "(a",
        "a)",
        "a & b",
        "&",
        "|",
        "a | !b",
        "!",
        "!!",
        "<->",
        "a <-> b",
        "a<2>b",
        ":*",
        "a:*",
        "a:ABCD*",
        "\\",
        "\\\\",
        "a\\",
        "\\'",
        "'a\\' & 'b",
        "%",
        "_",
        "a%b_",
        ";",
        "--",
        "/*",
        "?1",
        "$1",
        "\x01\x02\x7f",
        "\xff\xfe",
        "a\377b",
        "\xc3",
        "\xf0\x9f",
        "\xed\xa0\x80",
        "\xf0\x9f\x8d\xa3",
        "\n\t\r",
        "'; DROP TABLE messages; --",
        "\xcc\x81",
        "\xe2\x80\x8b",
        "a\u200bb",
    };
    say("a b c ABCD 2 words");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        search(texts[i]);
    }
    check_found("words", " 1");
}
END_TEST

START_TEST(a_search_without_words_finds_nothing)
{
    static const char *const texts[] = {"", " ", "\n", "\"\"", "***", "...", "\xff", "!?", "\\"};
    say("a b c");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        check_found(texts[i], "");
    }
}
END_TEST

START_TEST(every_byte_may_be_in_a_search)
{
    say("word");
    for (int byte = 1; byte < 256; byte++) {
        char text[] = {(char)byte, 'w', 'o', 'r', 'd', (char)byte, '\0'};
        search(text);
        search(text + 5);
    }
}
END_TEST

START_TEST(a_long_search)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    say("word");
    for (int i = 0; i < 5000; i++) {
        ik_buffer_append_format(&text, "w%d \"p q\" ", i);
    }
    search(text.data);
    ik_buffer_reset(&text);
    for (int i = 0; i < 50000; i++) {
        ik_buffer_append_text(&text, "w");
    }
    search(text.data);
}
END_TEST

/* --- which, and in which order ----------------------------------------------------------- */

static void say_in(const char *id, const char *words)
{
    log_say(store, id, words);
}

static void check_session(const char *id, const char *text, size_t limit, size_t expected)
{
    ik_store_hits_t *hits;
    ik_store_search_t wanted = {.text = text, .session_id = id, .limit = limit};
    log_assert_ok(ik_store_search(ctx, store, &wanted, &hits));
    ck_assert_uint_eq(hits->count, expected);
    for (size_t i = 0; id != NULL && i < hits->count; i++) {
        ck_assert_str_eq(hits->hits[i].session_id, id);
    }
}

START_TEST(in_one_session_or_in_all)
{
    say("needle");
    say("needle again");
    say_in("00000000000000b1", "a needle there");
    check_session(NULL, "needle", 100, 3);
    check_session(NULL, "needle", 2, 2);
    check_session(LOG_ID, "needle", 100, 2);
    check_session(LOG_ID, "needle", 1, 1);
    check_session("00000000000000b1", "needle", 100, 1);
    check_session("00000000000000b2", "needle", 100, 0);
}
END_TEST

START_TEST(a_hit_says_where_it_is)
{
    ik_store_agent_t fork = {.session_id = LOG_ID, .number = 2, .parent = 1, .forked_at = 1};
    ik_store_event_t event = log_event(LOG_ID, 2, "assistant", "the needle", NULL);
    say("a title");
    log_assert_ok(ik_store_write(store, &(ik_store_batch_t){.agents = &fork, .agent_count = 1}));
    event.agent = 2;
    log_assert_ok(log_write_one(store, event));
    ik_store_hits_t *hits = search("needle");
    ck_assert_uint_eq(hits->count, 1);
    const ik_store_hit_t *hit = &hits->hits[0];
    ck_assert_str_eq(hit->session_id, LOG_ID);
    ck_assert_str_eq(hit->title, "a title");
    ck_assert_str_eq(hit->cwd, "/work");
    ck_assert_int_eq(hit->agent, 2);
    ck_assert_int_eq(hit->seq, 2);
    ck_assert_int_eq(hit->created_us, event.created_us);
    ck_assert_str_eq(hit->kind, "assistant");
}
END_TEST

/* Regardless of the order of writing. */
START_TEST(the_best_comes_first)
{
    static const char best[] = "needle, needle and needle";
    static const char good[] =
        "of all the words that stand in this long text, which says nothing in "
        "particular and goes on for a while, one is needle and the others are "
        "there to make it long: hay, straw, grass, clover, weeds, thistles";
    say_in("00000000000000b1", _i == 0 ? best : good);
    say_in("00000000000000b2", _i == 0 ? good : best);
    ik_store_hits_t *hits = search("needle");
    ck_assert_uint_eq(hits->count, 2);
    ck_assert_str_eq(hits->hits[0].title, best);
}
END_TEST

START_TEST(what_is_removed_is_not_found)
{
    say("needle");
    say_in("00000000000000b1", "needle there");
    check_session(NULL, "needle", 100, 2);
    log_assert_ok(ik_store_remove(store, "00000000000000b1"));
    check_session(NULL, "needle", 100, 1);
    check_session(NULL, "there", 100, 0);
    say_in("00000000000000b2", "something else");
    check_session(NULL, "there", 100, 0);
    check_session(NULL, "needle", 100, 1);
    check_session(NULL, "something", 100, 1);
}
END_TEST

/* The event written last: its id in the index may be reused. */
START_TEST(what_is_removed_unsearched_is_not_found)
{
    say_in("00000000000000b1", "needle there");
    log_assert_ok(ik_store_remove(store, "00000000000000b1"));
    say("something else");
    check_session(NULL, "needle", 100, 0);
    check_session(NULL, "something", 100, 1);
    log_assert_ok(ik_store_remove(store, LOG_ID));
    say_in("00000000000000b2", "needle");
    check_session(NULL, "something", 100, 0);
    check_session(NULL, "needle", 100, 1);
}
END_TEST

/* --- what is shown ----------------------------------------------------------------------- */

/* The snippet of the one hit with its marks in brackets. */
static char *show(const char *text)
{
    ik_store_hits_t *hits = search(text);
    ck_assert_uint_eq(hits->count, 1);
    const ik_store_snippet_t *snippet = &hits->hits[0].snippet;
    ik_buffer_t shown;
    size_t at = 0;
    ik_buffer_init(&shown, ctx, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < snippet->count; i++) {
        const ik_store_mark_t *mark = &snippet->marks[i];
        ck_assert_uint_ge(mark->offset, at);
        ck_assert_uint_le(mark->offset + mark->len, strlen(snippet->text));
        ik_buffer_append(&shown, snippet->text + at, mark->offset - at);
        ik_buffer_append_format(&shown, "[%.*s]", (int)mark->len, snippet->text + mark->offset);
        at = mark->offset + mark->len;
    }
    ik_buffer_append_text(&shown, snippet->text + at);
    return ik_buffer_finish(&shown);
}

START_TEST(a_snippet_marks_the_words_found)
{
    say("The Quick Brown fox of Gr\xc3\xb6\xc3\x9f"
        "e 7");
    ck_assert_str_eq(show("quick"), "The [Quick] Brown fox of Gr\xc3\xb6\xc3\x9f"
                                    "e 7");
    ck_assert_str_eq(show("GROSSE fox"), "The Quick Brown [fox] of [Gr\xc3\xb6\xc3\x9f"
                                         "e] 7");
    ck_assert_str_eq(show("br*"), "The Quick [Brown] fox of Gr\xc3\xb6\xc3\x9f"
                                  "e 7");
}
END_TEST

START_TEST(a_snippet_is_one_line_around_the_words)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    for (int i = 0; i < 2000; i++) {
        ik_buffer_append_text(&text, i == 1000 ? "the\nneedle\n\there\n" : "hay\n");
    }
    say(text.data);
    char *shown = show("needle");
    ck_assert_msg(strstr(shown, "[needle]") != NULL, "%s", shown);
    ck_assert_ptr_null(strpbrk(shown, "\n\t\r"));
    ck_assert_uint_lt(strlen(shown), 1000);
    ck_assert_ptr_nonnull(strstr(shown, "\xe2\x80\xa6"));
}
END_TEST

/* --- all of them for both ---------------------------------------------------------------- */

static void add_backend(Suite *suite, const char *name, void (*begin)(void))
{
    TCase *tests = tcase_create(name);
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, begin, tear_down);
    tcase_add_test(tests, words_that_are_all_there);
    tcase_add_test(tests, words_next_to_each_other);
    tcase_add_test(tests, names_of_programs);
    tcase_add_test(tests, beginnings_of_words);
    tcase_add_test(tests, case_and_marks_do_not_matter);
    tcase_add_test(tests, writing_without_spaces);
    tcase_add_test(tests, words_that_mean_something_to_a_database);
    tcase_add_test(tests, calls_and_results_are_searched_as_people_read_them);
    tcase_add_test(tests, long_texts_are_searched);
    tcase_add_test(tests, a_large_text_is_no_burden);
    tcase_add_test(tests, what_was_written_meanwhile_is_found);
    tcase_add_test(tests, any_text_is_a_search);
    tcase_add_test(tests, a_search_without_words_finds_nothing);
    tcase_add_test(tests, every_byte_may_be_in_a_search);
    tcase_add_test(tests, a_long_search);
    tcase_add_test(tests, in_one_session_or_in_all);
    tcase_add_test(tests, a_hit_says_where_it_is);
    tcase_add_loop_test(tests, the_best_comes_first, 0, 2);
    tcase_add_test(tests, what_is_removed_is_not_found);
    tcase_add_test(tests, what_is_removed_unsearched_is_not_found);
    tcase_add_test(tests, a_snippet_marks_the_words_found);
    tcase_add_test(tests, a_snippet_is_one_line_around_the_words);
    suite_add_tcase(suite, tests);
}

int main(void)
{
    Suite *suite = suite_create("store_search");
    add_backend(suite, backend_names[BACKEND_SQLITE], set_up_sqlite);
    add_backend(suite, backend_names[BACKEND_POSTGRES], set_up_postgres);
    return scratch_run(suite);
}

/* Tests of the contract of store.h. Every test runs with both kinds of stores. */
#include <sys/wait.h>

#include "store_backend.h"
#include "store_log.h"

static void *ctx;
static backend_t backend;
static ik_store_t *store;
static int64_t trips; /* check_round_trip */

static void set_up(backend_t which)
{
    backend_empty();
    trips = 0;
    ctx = talloc_new(NULL);
    backend = which;
    store = backend_open(ctx, which);
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

/* --- writing ----------------------------------------------------------------------------- */

START_TEST(a_session_its_agent_and_its_events_are_one_write)
{
    ik_store_session_t session = log_session(LOG_ID);
    ik_store_agent_t root = log_root(LOG_ID);
    ik_store_event_t events[] = {log_event(LOG_ID, 1, "system", "be brief", NULL),
                                 log_event(LOG_ID, 2, "user", "hello", NULL),
                                 log_event(LOG_ID, 3, "assistant", "hi", "{}")};
    ik_store_batch_t batch = {&session, 1, &root, 1, events, 3, IK_STORE_FULL};
    log_assert_ok(ik_store_write(store, &batch));
    ck_assert_str_eq(log_dump(ctx, store, LOG_ID),
                     " 5:/work 4:here 8:p/chosen 5:hello 1700000000123456 1700000000123458"
                     " turns 1 messages 3 -1 -1 -1 -1 -1 -1\n"
                     "  agent 1 of 0 at 0 1700000000123456 to 3 1700000000123459\n"
                     "    1/1 1700000000123457 6:system 8:be brief none\n"
                     "    1/2 1700000000123458 4:user 5:hello none\n"
                     "    1/3 1700000000123459 9:assistant 2:hi 2:{}\n");
}
END_TEST

START_TEST(what_was_written_is_there_for_others_and_later)
{
    log_say(store, LOG_ID, "hello");
    char *here = log_dump_all(ctx, store);
    ck_assert_str_eq(log_dump_all(ctx, backend_open(ctx, backend)), here);
    talloc_free(store);
    ck_assert_str_eq(log_dump_all(ctx, backend_open(ctx, backend)), here);
}
END_TEST

START_TEST(writing_the_same_again_is_nothing)
{
    ik_store_event_t events[] = {
        log_event(LOG_ID, 1, "user", "hello", NULL),
        log_event(LOG_ID, 2, "assistant", "hi",
                  "{\"model\":\"p/m\",\"usage\":{\"in\":7,\"out\":2},\"cost_usd\":0.5}"),
        log_event(LOG_ID, 3, "user", "", "{ }")};
    log_assert_ok(log_begin(store, LOG_ID));
    log_assert_ok(log_write(store, events, 3));
    char *before = log_dump_all(ctx, store);
    log_assert_ok(log_begin(store, LOG_ID));
    log_assert_ok(log_write(store, events, 3));
    log_assert_ok(log_write(store, events + 1, 1));
    ck_assert_str_eq(log_dump_all(ctx, store), before);
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 4, "user", "new", NULL)));
    ck_assert_str_ne(log_dump_all(ctx, store), before);
}
END_TEST

START_TEST(a_batch_may_begin_with_what_is_there)
{
    ik_store_event_t events[] = {log_event(LOG_ID, 1, "user", "hello", NULL),
                                 log_event(LOG_ID, 2, "assistant", "hi", NULL),
                                 log_event(LOG_ID, 3, "user", "more", NULL)};
    log_say(store, LOG_ID, "hello");
    log_assert_ok(log_write(store, events, 3));
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).messages, 3);
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).turns, 2);
}
END_TEST

/* Refused, and nothing changed. A conflict begins with the id of the session, which delivery uses.
 */
static void check_refused(const ik_store_batch_t *batch, ik_error_code_t code)
{
    char *before = log_dump_all(ctx, store);
    res_t written = ik_store_write(store, batch);
    log_assert_code(written, code);
    ck_assert_str_ne(written.message, "");
    if (code == IK_ERR_CONFLICT) {
        ck_assert_msg(strncmp(written.message, LOG_ID, IK_STORE_ID_LEN) == 0, "%s",
                      written.message);
    }
    ck_assert_str_eq(log_dump_all(ctx, store), before);
}

static void check_event_refused(ik_store_event_t event, ik_error_code_t code)
{
    check_refused(&(ik_store_batch_t){.events = &event, .event_count = 1}, code);
}

START_TEST(another_event_in_the_same_place_is_a_conflict)
{
    ik_store_event_t kept = log_event(LOG_ID, 1, "user", "hello", "{\"a\":1}");
    ik_store_event_t other[7] = {kept, kept, kept, kept, kept, kept, kept};
    other[0].content = "hello ";
    other[1].content = NULL;
    other[2].data_json = "{\"a\": 1}"; /* the same to a parser */
    other[3].data_json = NULL;
    other[4].kind = "assistant";
    other[5].created_us++;
    other[6].content = "";
    log_assert_ok(log_begin(store, LOG_ID));
    log_assert_ok(log_write_one(store, kept));
    for (size_t i = 0; i < 7; i++) {
        check_event_refused(other[i], IK_ERR_CONFLICT);
    }
    log_assert_ok(log_write_one(store, kept));
}
END_TEST

START_TEST(nothing_and_an_empty_text_are_different)
{
    log_assert_ok(log_begin(store, LOG_ID));
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 1, "user", NULL, NULL)));
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 2, "user", "", "")));
    check_event_refused(log_event(LOG_ID, 1, "user", "", NULL), IK_ERR_CONFLICT);
    check_event_refused(log_event(LOG_ID, 2, "user", NULL, ""), IK_ERR_CONFLICT);
    check_event_refused(log_event(LOG_ID, 2, "user", "", NULL), IK_ERR_CONFLICT);
}
END_TEST

START_TEST(a_batch_that_goes_wrong_late_leaves_nothing)
{
    ik_store_session_t sessions[] = {log_session("00000000000000b1"),
                                     log_session("00000000000000b2")};
    ik_store_agent_t roots[] = {log_root("00000000000000b1"), log_root("00000000000000b2")};
    ik_store_event_t events[] = {log_event("00000000000000b1", 1, "user", "one", NULL),
                                 log_event("00000000000000b2", 1, "user", "two", NULL),
                                 log_event(LOG_ID, 2, "user", "three", NULL),
                                 log_event(LOG_ID, 1, "user", "another", NULL)};
    log_say(store, LOG_ID, "hello");
    check_refused(&(ik_store_batch_t){sessions, 2, roots, 2, events, 4, IK_STORE_FULL},
                  IK_ERR_CONFLICT);
    log_assert_ok(ik_store_write(
        store, &(ik_store_batch_t){sessions, 2, roots, 2, events, 3, IK_STORE_FULL}));
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).messages, 2);
}
END_TEST

START_TEST(a_log_has_no_gaps)
{
    ik_store_event_t behind[] = {log_event(LOG_ID, 2, "user", "two", NULL),
                                 log_event(LOG_ID, 4, "user", "four", NULL)};
    log_say(store, LOG_ID, "hello");
    check_event_refused(log_event(LOG_ID, 3, "user", "three", NULL), IK_ERR_INVALID);
    check_event_refused(log_event(LOG_ID, 0, "user", "zero", NULL), IK_ERR_INVALID);
    check_event_refused(log_event(LOG_ID, -1, "user", "less", NULL), IK_ERR_INVALID);
    check_refused(&(ik_store_batch_t){.events = behind, .event_count = 2}, IK_ERR_INVALID);
    log_assert_ok(log_write(store, behind, 1));
}
END_TEST

START_TEST(where_it_belongs_must_be_there)
{
    ik_store_agent_t lost = {.session_id = "00000000000000b1", .number = 1};
    ik_store_event_t event = log_event(LOG_ID, 1, "user", "x", NULL);
    log_say(store, LOG_ID, "hello");
    check_event_refused(log_event("00000000000000b1", 1, "user", "x", NULL), IK_ERR_NOT_FOUND);
    check_refused(&(ik_store_batch_t){.agents = &lost, .agent_count = 1}, IK_ERR_NOT_FOUND);
    event.agent = 2;
    check_event_refused(event, IK_ERR_NOT_FOUND);
}
END_TEST

START_TEST(another_agent_of_the_same_number_is_a_conflict)
{
    ik_store_agent_t fork = {.session_id = LOG_ID, .number = 2, .parent = 1, .forked_at = 1};
    ik_store_batch_t batch = {.agents = &fork, .agent_count = 1};
    log_say(store, LOG_ID, "hello");
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 2, "user", "more", NULL)));
    log_assert_ok(ik_store_write(store, &batch));
    log_assert_ok(ik_store_write(store, &batch));
    fork.forked_at = 2;
    check_refused(&batch, IK_ERR_CONFLICT);
    fork = (ik_store_agent_t){.session_id = LOG_ID, .number = 2};
    check_refused(&batch, IK_ERR_CONFLICT);
}
END_TEST

START_TEST(an_empty_batch_is_nothing)
{
    log_assert_ok(ik_store_write(store, &(ik_store_batch_t){.safety = IK_STORE_FULL}));
    ck_assert_str_eq(log_dump_all(ctx, store), "");
}
END_TEST

START_TEST(an_error_does_not_spoil_what_follows)
{
    log_say(store, LOG_ID, "hello");
    check_event_refused(log_event(LOG_ID, 5, "user", "x", NULL), IK_ERR_INVALID);
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 2, "user", "x", NULL)));
    check_event_refused(log_event(LOG_ID, 2, "user", "y", NULL), IK_ERR_CONFLICT);
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 3, "user", "x", NULL)));
}
END_TEST

START_TEST(two_connections_write_in_turns)
{
    ik_store_t *second = backend_open(ctx, backend);
    log_say(store, LOG_ID, "1");
    for (int64_t seq = 2; seq <= 20; seq++) {
        char *words = ik_sprintf(ctx, "%" PRId64, seq);
        log_assert_ok(log_write_one(seq % 3 == 0 ? store : second,
                                    log_event(LOG_ID, seq, "user", words, NULL)));
    }
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).turns, 20);
    ck_assert_str_eq(log_dump_all(ctx, store), log_dump_all(ctx, second));
}
END_TEST

/* --- texts come back byte for byte ------------------------------------------------------- */

/* Writes a text as content and as data of one event and compares what is read. */
static void check_round_trip(const char *content, const char *data_json)
{
    void *scratch = talloc_new(ctx);
    ik_store_event_t event = log_event(LOG_ID, ++trips, "tool_result", content, data_json);
    ik_store_agent_t root = log_root(LOG_ID);
    ik_buffer_t expected;
    ik_buffer_t found;
    if (trips == 1) {
        log_assert_ok(log_begin(store, LOG_ID));
    }
    log_assert_ok(log_write_one(store, event));
    ik_buffer_init(&expected, scratch, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&found, scratch, IK_BUFFER_UNLIMITED);
    log_on_event(&expected, &event);
    log_assert_ok(ik_store_read(store, &root, trips - 1, log_on_event, &found));
    ck_assert_msg(expected.len == found.len && memcmp(expected.data, found.data, found.len) == 0,
                  "%.200s\nbecame\n%.200s", expected.data, found.data);
    talloc_free(scratch);
}

START_TEST(texts_of_every_sort)
{
    static const char *const texts[] = {
        "",
        " ",
        "\n",
        "a\r\nb\tc\x01\x7f",
        "\\",
        "'",
        "\"",
        "\\N",
        "\\\\x41",
        "{}",
        "%s",
        "$1",
        "NULL",
        "\xf0\x9f\x8d\xa3 emoji \xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9",
        "\xe6\x97\xa5\xe6\x9c\xac",
        "e\xcc\x81 is not \xc3\xa9",
        "\xef\xbb\xbf byte order mark",
        "\xef\xbf\xbf\xf4\x8f\xbf\xbf",
        "'; DROP TABLE messages; --",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        check_round_trip(texts[i], NULL);
        check_round_trip(NULL, texts[i]);
        check_round_trip(texts[i], texts[i]);
    }
    check_round_trip(NULL, NULL);
}
END_TEST

/* Data is stored as text, not as parsed JSON. */
START_TEST(data_of_every_sort)
{
    static const char *const data[] = {
        "{\"output\":\"a\\u0000b\"}", /* no NUL, but the escape of one */
        "{\"a\\u0000\":1}",
        "{\"lone\":\"\\ud800\",\"low\":\"\\udc00 \\ud83c\\udf63\"}",
        " {\n\t\"b\" : 1 ,\r\n \"a\":2 }\n",
        "{\"a\":1,\"a\":2,\"A\":3}",
        "{\"n\":1.0,\"m\":1e400,\"o\":-0,\"p\":12345678901234567890123,\"q\":1E+2}",
        "{\"huge\":1e1000000}",
        "{\"slash\":\"\\/\",\"escaped\":\"\\u0041\"}",
        "{\"model\":1,\"usage\":[],\"cost_usd\":\"x\"}",
        "[1,2]",
        "null",
        "\"text\"",
        "{ not JSON",
        "{\"open\":\"",
    };
    for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++) {
        check_round_trip("", data[i]);
    }
}
END_TEST

START_TEST(data_nested_deeply)
{
    enum { DEPTH = 20000 };
    char *deep = ik_new_array(ctx, char, 2 * DEPTH + 1);
    memset(deep, '[', DEPTH);
    memset(deep + DEPTH, ']', DEPTH);
    check_round_trip("deep", ik_sprintf(ctx, "{\"a\":%s}", deep));
}
END_TEST

START_TEST(kinds_are_any_text)
{
    static const char *const kinds[] = {"system",      "user",       "assistant", "tool_call",
                                        "tool_result", "compaction", "note",      "Größe"};
    log_assert_ok(log_begin(store, LOG_ID));
    for (int64_t i = 0; i < 8; i++) {
        log_assert_ok(log_write_one(store, log_event(LOG_ID, i + 1, kinds[i], "x", "{}")));
    }
    char *log = log_dump(ctx, store, LOG_ID);
    for (size_t i = 0; i < 8; i++) {
        char *line = ik_sprintf(ctx, "    1/%zu %" PRId64 " %zu:%s 1:x 2:{}\n", i + 1,
                                LOG_TIME + (int64_t)i + 1, strlen(kinds[i]), kinds[i]);
        ck_assert_msg(strstr(log, line) != NULL, "no %sin\n%s", line, log);
    }
}
END_TEST

/* Around every size at which a store might change the way it stores a text. */
START_TEST(texts_of_every_length)
{
    char *text = ik_new_array(ctx, char, 70001);
    uint32_t noise = 1;
    for (size_t i = 0; i < 70000; i++) {
        noise = noise * 1664525 + 1013904223;
        text[i] = (char)(' ' + noise % 95 * (i % 3 != 0)); /* neither even nor without a pattern */
    }
    for (size_t len = 480; len < 540; len++) {
        check_round_trip(ik_strndup(ctx, text, len), NULL);
    }
    static const size_t lengths[] = {1023, 1024, 2000, 4096, 8191, 16384, 65535, 65536, 70000};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        check_round_trip(ik_strndup(ctx, text, lengths[i]), ik_strndup(ctx, text, lengths[i]));
    }
}
END_TEST

START_TEST(texts_of_two_megabytes)
{
    enum { SIZE = 2 << 20 };
    char *same = ik_new_array(ctx, char, SIZE + 1);
    char *mixed = ik_new_array(ctx, char, SIZE + 1);
    uint32_t noise = 7;
    memset(same, 'x', SIZE);
    for (size_t i = 0; i < SIZE; i++) {
        noise = noise * 1664525 + 1013904223;
        mixed[i] = (char)('!' + (noise >> 16) % 90);
    }
    check_round_trip(same, mixed);
    check_round_trip(mixed, ik_sprintf(ctx, "{\"output\":\"%s\"}", same));
}
END_TEST

START_TEST(times_of_every_sort)
{
    static const int64_t times[] = {1, 999999, 1000000, LOG_TIME, INT64_C(253402300799999999), 0};
    log_assert_ok(log_begin(store, LOG_ID));
    for (int64_t i = 0; i < 6; i++) {
        ik_store_event_t event = log_event(LOG_ID, i + 1, "note", "x", NULL);
        event.created_us = times[i];
        log_assert_ok(log_write_one(store, event));
    }
    char *log = log_dump(ctx, store, LOG_ID);
    for (size_t i = 0; i < 6; i++) {
        ck_assert_ptr_nonnull(
            strstr(log, ik_sprintf(ctx, "1/%zu %" PRId64 " 4:note", i + 1, times[i])));
    }
}
END_TEST

/* --- reading ----------------------------------------------------------------------------- */

/* Counts to three. */
static res_t on_event_three(void *data, const ik_store_event_t *event)
{
    int *count = data;
    (void)event;
    return ++*count < 3 ? OK : ERR(LIMIT, "three");
}

START_TEST(reading_begins_and_ends_where_it_should)
{
    ik_store_agent_t root = log_root(LOG_ID);
    ik_buffer_t found;
    int count = 0;
    log_say(store, LOG_ID, "1");
    for (int64_t seq = 2; seq <= 5; seq++) {
        log_assert_ok(log_write_one(store, log_event(LOG_ID, seq, "note", "x", NULL)));
    }
    ik_buffer_init(&found, ctx, IK_BUFFER_UNLIMITED);
    log_assert_ok(ik_store_read(store, &root, 3, log_on_event, &found));
    ck_assert_str_eq(found.data, "    1/4 1700000000123460 4:note 1:x none\n"
                                 "    1/5 1700000000123461 4:note 1:x none\n");
    log_assert_ok(ik_store_read(store, &root, 5, on_event_three, &count));
    ck_assert_int_eq(count, 0);
    res_t read = ik_store_read(store, &root, 0, on_event_three, &count);
    log_assert_code(read, IK_ERR_LIMIT);
    ck_assert_str_eq(read.message, "three");
    ck_assert_int_eq(count, 3);
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 6, "note", "x", NULL)));
}
END_TEST

/* A reader may use the stores from inside its callback. */
static res_t on_event_nested(void *data, const ik_store_event_t *event)
{
    int *count = data;
    ik_store_agent_t root = log_root(LOG_ID);
    ik_buffer_t found;
    ++*count;
    ik_buffer_init(&found, ctx, IK_BUFFER_UNLIMITED);
    log_assert_ok(ik_store_read(store, &root, event->seq - 1, log_on_event, &found));
    ck_assert_ptr_nonnull(strstr(found.data, event->content));
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).messages, 3);
    return OK;
}

START_TEST(reading_while_reading)
{
    ik_store_agent_t root = log_root(LOG_ID);
    int count = 0;
    log_say(store, LOG_ID, "first");
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 2, "note", "second", NULL)));
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 3, "note", "third", NULL)));
    log_assert_ok(ik_store_read(store, &root, 0, on_event_nested, &count));
    ck_assert_int_eq(count, 3);
}
END_TEST

START_TEST(sessions_are_apart)
{
    log_say(store, "00000000000000b1", "one");
    log_say(store, "00000000000000b2", "two");
    log_assert_ok(log_write_one(store, log_event("00000000000000b1", 2, "user", "three", NULL)));
    ck_assert_ptr_null(strstr(log_dump(ctx, store, "00000000000000b2"), "three"));
    ck_assert_int_eq(log_find(ctx, store, "00000000000000b2").messages, 1);
    ck_assert_int_eq(log_find(ctx, store, "00000000000000b1").messages, 2);
}
END_TEST

/* What only undo reads is not counted as a message. */
START_TEST(records_are_not_counted)
{
    static const char *const kinds[] = {"checkpoint", "undo", "redo"};
    log_say(store, LOG_ID, "first");
    for (int i = 0; i < 3; i++) {
        log_assert_ok(log_write_one(store, log_event(LOG_ID, 2 + i, kinds[i], "record", NULL)));
    }
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 5, "note", "second", NULL)));
    log_say(store, "00000000000000b2", "another session");
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).messages, 2);
    ck_assert_int_eq(log_find(ctx, store, "00000000000000b2").messages, 1);
}
END_TEST

START_TEST(there_is_no_such_session)
{
    ik_store_agents_t *agents;
    int count = 0;
    log_say(store, "00000000000000b1", "one");
    res_t asked = ik_store_agents(ctx, store, LOG_ID, &agents);
    log_assert_code(asked, IK_ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(asked.message, LOG_ID));
    log_assert_code(ik_store_read_all(store, LOG_ID, 1, on_event_three, &count), IK_ERR_NOT_FOUND);
    log_assert_code(ik_store_read_all(store, "00000000000000b1", 2, on_event_three, &count),
                    IK_ERR_NOT_FOUND);
    log_assert_code(ik_store_remove(store, LOG_ID), IK_ERR_NOT_FOUND);
    ck_assert_int_eq(count, 0);
}
END_TEST

/* --- a tree of agents -------------------------------------------------------------------- */

static void fork_agent(int64_t number, int64_t parent, int64_t forked_at)
{
    ik_store_agent_t agent = {.session_id = LOG_ID,
                              .number = number,
                              .parent = parent,
                              .forked_at = forked_at,
                              .created_us = LOG_TIME + number};
    log_assert_ok(ik_store_write(store, &(ik_store_batch_t){.agents = &agent, .agent_count = 1}));
}

/* Says "agent/seq" for each event from first to last. */
static void go_on(int64_t agent, int64_t first, int64_t last)
{
    for (int64_t seq = first; seq <= last; seq++) {
        ik_store_event_t event = log_event(
            LOG_ID, seq, "note", ik_sprintf(ctx, "%" PRId64 "/%" PRId64, agent, seq), NULL);
        event.agent = agent;
        log_assert_ok(log_write_one(store, event));
    }
}

static res_t on_event_join(void *data, const ik_store_event_t *event)
{
    ik_buffer_append_format(data, " %s", event->content);
    return OK;
}

static void check_known(int64_t agent, const char *expected)
{
    ik_buffer_t known;
    ik_buffer_init(&known, ctx, IK_BUFFER_UNLIMITED);
    log_assert_ok(ik_store_read_all(store, LOG_ID, agent, on_event_join, &known));
    ck_assert_str_eq(known.data == NULL ? "" : known.data, expected);
}

START_TEST(an_agent_knows_what_its_ancestors_knew)
{
    log_assert_ok(log_begin(store, LOG_ID));
    go_on(1, 1, 3);
    fork_agent(2, 1, 2);
    go_on(2, 3, 4);
    go_on(1, 4, 5);
    fork_agent(3, 2, 4);
    go_on(3, 5, 6);
    fork_agent(4, 3, 1); /* at an event that the parent inherited */
    go_on(4, 2, 2);
    fork_agent(5, 3, 5);
    fork_agent(6, 1, 0);
    go_on(6, 1, 1);
    check_known(1, " 1/1 1/2 1/3 1/4 1/5");
    check_known(2, " 1/1 1/2 2/3 2/4");
    check_known(3, " 1/1 1/2 2/3 2/4 3/5 3/6");
    check_known(4, " 1/1 4/2");
    check_known(5, " 1/1 1/2 2/3 2/4 3/5");
    check_known(6, " 6/1");
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).messages, 11);
}
END_TEST

START_TEST(agents_are_listed_as_they_were_written)
{
    ik_store_agents_t *agents;
    log_assert_ok(log_begin(store, LOG_ID));
    go_on(1, 1, 3);
    fork_agent(3, 1, 2);
    fork_agent(2, 1, 3);
    go_on(2, 4, 6);
    log_assert_ok(ik_store_agents(ctx, store, LOG_ID, &agents));
    static const ik_store_agent_t expected[] = {
        {.number = 1, .created_us = LOG_TIME, .last_seq = 3},
        {.number = 2, .parent = 1, .forked_at = 3, .created_us = LOG_TIME + 2, .last_seq = 6},
        {.number = 3, .parent = 1, .forked_at = 2, .created_us = LOG_TIME + 3, .last_seq = 2},
    };
    ck_assert_uint_eq(agents->count, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_str_eq(agents->agents[i].session_id, LOG_ID);
        ck_assert_int_eq(agents->agents[i].number, expected[i].number);
        ck_assert_int_eq(agents->agents[i].parent, expected[i].parent);
        ck_assert_int_eq(agents->agents[i].forked_at, expected[i].forked_at);
        ck_assert_int_eq(agents->agents[i].created_us, expected[i].created_us);
        ck_assert_int_eq(agents->agents[i].last_seq, expected[i].last_seq);
    }
}
END_TEST

/* Too many ancestors for recursion. */
START_TEST(a_long_line_of_forks)
{
    enum { LONG = 20000 };
    ik_store_agent_t *agents = ik_new_array(ctx, ik_store_agent_t, LONG);
    log_say(store, LOG_ID, "words");
    for (int64_t i = 0; i < LONG; i++) {
        agents[i] = (ik_store_agent_t){.session_id = LOG_ID,
                                       .number = i + 2,
                                       .parent = i + 1,
                                       .forked_at = 1,
                                       .created_us = LOG_TIME};
    }
    log_assert_ok(
        ik_store_write(store, &(ik_store_batch_t){.agents = agents, .agent_count = LONG}));
    log_assert_same(log_dump_known(ctx, store, LOG_ID, LONG),
                    log_dump_known(ctx, store, LOG_ID, IK_STORE_ROOT_AGENT));
}
END_TEST

START_TEST(a_fork_goes_on_counting)
{
    ik_store_event_t event = log_event(LOG_ID, 3, "note", "x", NULL);
    log_assert_ok(log_begin(store, LOG_ID));
    go_on(1, 1, 2);
    fork_agent(2, 1, 2);
    event.agent = 2;
    event.seq = 1;
    check_event_refused(event, IK_ERR_INVALID); /* the parent's, not its own */
    event.seq = 4;
    check_event_refused(event, IK_ERR_INVALID);
    go_on(2, 3, 3);
}
END_TEST

START_TEST(the_parent_of_an_agent_must_be_there)
{
    ik_store_agent_t orphan = {.session_id = LOG_ID, .number = 3, .parent = 2, .forked_at = 1};
    char *before;
    log_say(store, LOG_ID, "hello");
    before = log_dump_all(ctx, store);
    res_t written = ik_store_write(store, &(ik_store_batch_t){.agents = &orphan, .agent_count = 1});
    ck_assert(is_err(&written));
    ck_assert_str_eq(log_dump_all(ctx, store), before);
}
END_TEST

/* --- figures ----------------------------------------------------------------------------- */

static void check_model(const char *model)
{
    ck_assert_str_eq(log_find(ctx, store, LOG_ID).model, model);
}

START_TEST(figures_are_sums_over_answers)
{
    log_assert_ok(log_begin(store, LOG_ID));
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 1, "user", "hello", NULL)));
    check_model("p/chosen");
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).usage.in, IK_USAGE_UNKNOWN);
    ck_assert(log_find(ctx, store, LOG_ID).cost < 0);
    ik_store_event_t events[] = {
        log_event(LOG_ID, 2, "assistant", "let me see",
                  "{\"model\":\"p/first\",\"usage\":{\"in\":100,\"cached\":60,\"cache_write\":8,"
                  "\"out\":10},\"cost_usd\":0.25}"),
        log_event(LOG_ID, 3, "tool_call", "glob()", "{\"id\":\"1\"}"), /* of the same answer */
        log_event(LOG_ID, 4, "tool_result", "",
                  "{\"model\":\"q/no\",\"usage\":{\"in\":5000},\"cost_usd\":9}"),
        log_event(LOG_ID, 5, "tool_call", "glob()",
                  "{\"usage\":{\"out\":5,\"in\":200,\"reasoning\":3},\"model\":\"q/second\","
                  "\"cost_usd\":0.125}"),
        log_event(LOG_ID, 6, "tool_result", "", "{}"),
        log_event(LOG_ID, 7, "user", "again", NULL),
        log_event(LOG_ID, 8, "assistant", "words", "{\"model\":\"p/first\"}"), /* nothing known */
    };
    log_assert_ok(log_write(store, events, 3));
    check_model("p/first");
    log_assert_ok(log_write(store, events + 3, 4));
    ik_store_session_t session = log_find(ctx, store, LOG_ID);
    ck_assert_str_eq(session.model, "p/first");
    ck_assert_int_eq(session.turns, 2);
    ck_assert_int_eq(session.messages, 8);
    ck_assert_int_eq(session.usage.in, 300);
    ck_assert_int_eq(session.usage.cached, 60);
    ck_assert_int_eq(session.usage.cache_write, 8);
    ck_assert_int_eq(session.usage.out, 15);
    ck_assert_int_eq(session.usage.reasoning, 3);
    ck_assert_double_eq(session.cost, 0.375);
    ck_assert_int_eq(session.updated_us, LOG_TIME + 8);
}
END_TEST

START_TEST(figures_of_all_agents_count)
{
    log_say(store, LOG_ID, "hello");
    fork_agent(2, 1, 1);
    ik_store_event_t events[] = {
        log_event(LOG_ID, 2, "assistant", "a", "{\"model\":\"p/m\",\"usage\":{\"in\":1}}"),
        log_event(LOG_ID, 2, "assistant", "b", "{\"model\":\"p/m\",\"usage\":{\"in\":2}}"),
        log_event(LOG_ID, 3, "user", "c", NULL)};
    events[1].agent = events[2].agent = 2;
    log_assert_ok(log_write(store, events, 3));
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).usage.in, 3);
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).turns, 2);
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).messages, 4);
}
END_TEST

static void check_title(const char *words, const char *title)
{
    static int64_t number;
    char *id = ik_sprintf(ctx, "%016" PRIx64, INT64_C(0xb00) + ++number);
    log_say(store, id, words);
    ck_assert_str_eq(log_find(ctx, store, id).title, title);
}

START_TEST(a_title_is_the_first_words_of_the_user)
{
    check_title("Fix the bug", "Fix the bug");
    check_title(" \n\t Fix  the\tbug \nin main.c", "Fix the bug");
    check_title("Gr\xc3\xb6\xc3\x9f"
                "e \xf0\x9f\x8d\xa3",
                "Gr\xc3\xb6\xc3\x9f"
                "e \xf0\x9f\x8d\xa3");
    check_title("red \x1b[31mtext", "red [31mtext");
    check_title(NULL, "");
    check_title(" \n ", "");
}
END_TEST

START_TEST(a_long_title_is_cut)
{
    ik_buffer_t words;
    ik_buffer_init(&words, ctx, IK_BUFFER_UNLIMITED);
    for (int i = 0; i < 100; i++) {
        ik_buffer_append_text(&words, "\xc3\xa4"); /* two bytes each */
    }
    log_say(store, LOG_ID, words.data);
    const char *title = log_find(ctx, store, LOG_ID).title;
    size_t cut = strlen(title) - strlen("\xe2\x80\xa6");
    ck_assert_str_eq(title + cut, "\xe2\x80\xa6");
    ck_assert_uint_ge(cut, 100);
    ck_assert_uint_lt(cut, 200);
    ck_assert_uint_eq(cut % 2, 0);
    ck_assert_int_eq(strncmp(title, words.data, cut), 0);
}
END_TEST

START_TEST(the_title_stays)
{
    log_assert_ok(log_begin(store, LOG_ID));
    ck_assert_str_eq(log_find(ctx, store, LOG_ID).title, "");
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 1, "system", "be brief", NULL)));
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 2, "user", " ", NULL)));
    ck_assert_str_eq(log_find(ctx, store, LOG_ID).title, "");
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 3, "user", "first", NULL)));
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 4, "user", "second", NULL)));
    ck_assert_str_eq(log_find(ctx, store, LOG_ID).title, "first");
}
END_TEST

/* --- finding ----------------------------------------------------------------------------- */

/* Three of them; b2 was used last, then b1. */
static void say_three(void)
{
    ik_store_session_t session = log_session("00000000000000b3");
    ik_store_agent_t root = log_root("00000000000000b3");
    session.cwd = "/elsewhere";
    log_assert_ok(ik_store_write(store, &(ik_store_batch_t){&session, 1, &root, 1, NULL, 0, 0}));
    log_say(store, "00000000000000b2", "two");
    log_say(store, "00000000000000b1", "one");
    log_assert_ok(log_write_one(store, log_event("00000000000000b1", 2, "user", "on", NULL)));
    log_assert_ok(log_write_one(store, log_event("00000000000000b2", 2, "note", "on", NULL)));
    log_assert_ok(log_write_one(store, log_event("00000000000000b2", 3, "user", "on", NULL)));
}

static void check_list(const char *cwd, size_t limit, const char *expected)
{
    ik_store_list_t *list;
    ik_buffer_t found;
    ik_buffer_init(&found, ctx, IK_BUFFER_UNLIMITED);
    log_assert_ok(
        ik_store_list(ctx, store, &(ik_store_filter_t){.cwd = cwd, .limit = limit}, &list));
    for (size_t i = 0; i < list->count; i++) {
        ik_buffer_append_format(&found, " %s", list->sessions[i].id + 14);
    }
    ck_assert_str_eq(found.data == NULL ? "" : found.data, expected);
}

START_TEST(the_last_used_is_listed_first)
{
    check_list(NULL, 0, "");
    say_three();
    check_list(NULL, 0, " b2 b1 b3");
    check_list(NULL, 2, " b2 b1");
    check_list(NULL, 1, " b2");
    check_list(NULL, 100, " b2 b1 b3");
    check_list("/work", 0, " b2 b1");
    check_list("/work", 1, " b2");
    check_list("/elsewhere", 0, " b3");
    check_list("/else", 0, "");
    check_list("", 0, "");
}
END_TEST

START_TEST(a_folder_may_have_any_name)
{
    static const char *const folders[] = {"/it's", "/a\\b", "/50%", "/\xff\xfe", "/new\nline"};
    for (size_t i = 0; i < 5; i++) {
        ik_store_list_t *list;
        ik_store_session_t session = log_session(ik_sprintf(ctx, "00000000000000c%zu", i));
        ik_store_agent_t root = log_root(session.id);
        session.cwd = folders[i];
        log_assert_ok(
            ik_store_write(store, &(ik_store_batch_t){&session, 1, &root, 1, NULL, 0, 0}));
        log_assert_ok(ik_store_list(ctx, store, &(ik_store_filter_t){.cwd = folders[i]}, &list));
        ck_assert_uint_eq(list->count, 1);
        ck_assert_str_eq(list->sessions[0].id, session.id);
    }
}
END_TEST

static res_t find(const char *prefix, ik_store_session_t *session)
{
    return ik_store_find(ctx, store, prefix, session);
}

START_TEST(a_session_is_found_by_how_its_id_begins)
{
    ik_store_session_t session;
    log_say(store, "0123456789abcdef", "one");
    log_say(store, "0123ffffffffffff", "two");
    log_say(store, "f000000000000000", "three");
    log_assert_ok(find("f", &session));
    ck_assert_str_eq(session.id, "f000000000000000");
    ck_assert_str_eq(session.title, "three");
    log_assert_ok(find("01234", &session));
    ck_assert_str_eq(session.id, "0123456789abcdef");
    log_assert_ok(find("0123456789abcdef", &session));
    ck_assert_str_eq(session.title, "one");
    log_assert_code(find("01235", &session), IK_ERR_NOT_FOUND);
    log_assert_code(find("e", &session), IK_ERR_NOT_FOUND);
    log_assert_code(find("0123456789abcdee", &session), IK_ERR_NOT_FOUND);
    res_t several = find("0123", &session);
    log_assert_code(several, IK_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(several.message, "0123456789abcdef"));
    ck_assert_ptr_nonnull(strstr(several.message, "0123ffffffffffff"));
}
END_TEST

START_TEST(what_cannot_begin_an_id_is_refused)
{
    static const char *const wrong[] = {"",  "g",   "0123456789ABCDEF",  "0123456789abcdef0",
                                        "%", "0_2", "01' OR id LIKE '%", "\xff"};
    ik_store_session_t session;
    log_say(store, "0123456789abcdef", "one");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        log_assert_code(find(wrong[i], &session), IK_ERR_INVALID);
    }
}
END_TEST

START_TEST(ids_are_fresh)
{
    char *first = ik_store_new_id(ctx);
    char *second = ik_store_new_id(ctx);
    ck_assert_uint_eq(strlen(first), IK_STORE_ID_LEN);
    ck_assert_uint_eq(strspn(first, "0123456789abcdef"), IK_STORE_ID_LEN);
    ck_assert_str_ne(first, second);
    log_say(store, first, "one");
    log_say(store, second, "two");
    ck_assert_str_eq(log_find(ctx, store, second).title, "two");
}
END_TEST

START_TEST(an_id_must_be_one)
{
    static const char *const wrong[] = {"", "123", "0123456789abcdef0"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ik_store_session_t session = log_session(wrong[i]);
        check_refused(&(ik_store_batch_t){.sessions = &session, .session_count = 1},
                      IK_ERR_INVALID);
    }
}
END_TEST

/* --- removing ---------------------------------------------------------------------------- */

START_TEST(a_removed_session_is_gone_and_the_others_stay)
{
    ik_store_session_t session;
    say_three();
    char *kept = log_dump(ctx, store, "00000000000000b1");
    log_assert_ok(ik_store_remove(store, "00000000000000b2"));
    check_list(NULL, 0, " b1 b3");
    log_assert_code(find("00000000000000b2", &session), IK_ERR_NOT_FOUND);
    log_assert_code(ik_store_remove(store, "00000000000000b2"), IK_ERR_NOT_FOUND);
    ck_assert_str_eq(log_dump(ctx, store, "00000000000000b1"), kept);
    log_write_one(store, log_event("00000000000000b2", 4, "user", "late", NULL));
    log_write_one(store, log_event("00000000000000b2", 1, "user", "late", NULL));
    check_list(NULL, 0, " b1 b3");
}
END_TEST

START_TEST(a_tree_of_agents_is_removed)
{
    log_assert_ok(log_begin(store, LOG_ID));
    go_on(1, 1, 2);
    fork_agent(2, 1, 2);
    fork_agent(3, 2, 2);
    go_on(3, 3, 4);
    log_assert_ok(ik_store_remove(store, LOG_ID));
    ck_assert_str_eq(log_dump_all(ctx, store), "");
}
END_TEST

/* In a file. */
START_TEST(an_id_may_be_used_again_after_removal)
{
    ik_store_t *second = backend_open(ctx, backend);
    log_say(store, LOG_ID, "old words");
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 2, "user", "more", NULL)));
    log_assert_ok(ik_store_remove(second, LOG_ID));
    check_event_refused(log_event(LOG_ID, 3, "user", "x", NULL), IK_ERR_NOT_FOUND);
    log_say(second, LOG_ID, "new words");
    ck_assert_str_eq(log_find(ctx, store, LOG_ID).title, "new words");
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).messages, 1);
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 2, "user", "y", NULL)));
}
END_TEST

/* On a server, to which another machine may yet deliver what it has of the session. */
START_TEST(what_was_removed_stays_removed)
{
    ik_store_t *second = backend_open(ctx, backend);
    ik_store_agent_t root = log_root(LOG_ID);
    int count = 0;
    log_say(store, LOG_ID, "hello");
    log_assert_ok(ik_store_remove(second, LOG_ID));
    log_say(store, LOG_ID, "hello");
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 2, "user", "more", NULL)));
    check_list(NULL, 0, "");
    ik_store_read(store, &root, 0, on_event_three, &count); /* finds it, or not */
    ck_assert_int_eq(count, 0);
    log_say(store, "00000000000000b1", "another");
    check_list(NULL, 0, " b1");
}
END_TEST

/* --- one writer per session -------------------------------------------------------------- */

static pid_t neighbour;

static void end_neighbour(void)
{
    kill(neighbour, SIGKILL);
    waitpid(neighbour, NULL, 0);
}

/* Another process of this machine that runs until it is killed. */
static ik_holder_t start_neighbour(void)
{
    int tell[2];
    ik_holder_t holder;
    ck_assert_int_eq(pipe(tell), 0);
    neighbour = fork();
    if (neighbour == 0) {
        holder = ik_holder_self();
        if (write(tell[1], &holder, sizeof(holder)) == sizeof(holder)) {
            pause();
        }
        _exit(0);
    }
    ck_assert_int_eq(read(tell[0], &holder, sizeof(holder)), sizeof(holder));
    close(tell[0]);
    close(tell[1]);
    return holder;
}

static void check_held(ik_store_t *by, const ik_holder_t *self, const ik_holder_t *holder)
{
    ik_holder_t other = {0};
    res_t claimed = ik_store_claim(by, LOG_ID, self, &other);
    log_assert_code(claimed, IK_ERR_CONFLICT);
    ck_assert_msg(ik_holder_equal(&other, holder), "held by %" PRId64 " on %s", other.pid,
                  other.host);
    ck_assert_ptr_nonnull(strstr(claimed.message, ik_sprintf(ctx, "%" PRId64, holder->pid)));
    ck_assert_ptr_nonnull(strstr(claimed.message, holder->host));
}

START_TEST(a_session_has_one_writer)
{
    ik_store_t *second = backend_open(ctx, backend);
    ik_holder_t self = ik_holder_self();
    ik_holder_t their = start_neighbour();
    ik_holder_t namesake = {.pid = their.pid, .started = their.started + 1, .host = "elsewhere"};
    ik_holder_t other;
    log_assert_ok(ik_store_claim(second, LOG_ID, &their, &other));
    log_assert_ok(ik_store_claim(second, LOG_ID, &their, &other));
    check_held(store, &self, &their);
    log_assert_ok(ik_store_release(second, LOG_ID, &namesake));
    check_held(store, &self, &their);
    log_assert_ok(ik_store_claim(store, "00000000000000b1", &self, &other));
    log_assert_ok(ik_store_release(store, LOG_ID, &self)); /* which it does not hold */
    check_held(store, &self, &their);
    log_say(second, LOG_ID, "a session that is there now");
    check_held(store, &self, &their);
    log_assert_ok(ik_store_release(second, LOG_ID, &their));
    log_assert_ok(ik_store_claim(store, LOG_ID, &self, &other));
    check_held(second, &their, &self);
    log_assert_ok(ik_store_release(store, LOG_ID, &self));
    log_assert_ok(ik_store_claim(second, LOG_ID, &their, &other));
    end_neighbour();
}
END_TEST

/* A file keeps the holder after its end; a server ends the claims when it notices that the
 * connection is gone. */
START_TEST(a_dead_writer_is_succeeded)
{
    ik_store_t *second = backend_open(ctx, backend);
    ik_holder_t self = ik_holder_self();
    ik_holder_t their = start_neighbour();
    ik_holder_t other;
    log_assert_ok(ik_store_claim(second, LOG_ID, &their, &other));
    check_held(store, &self, &their);
    end_neighbour();
    talloc_free(second);
    res_t claimed = ik_store_claim(store, LOG_ID, &self, &other);
    for (int tries = 0; tries < 1000 && claimed.code == IK_ERR_CONFLICT; tries++) {
        usleep(10000);
        claimed = ik_store_claim(store, LOG_ID, &self, &other);
    }
    log_assert_ok(claimed);
}
END_TEST

/* --- all of them for both ---------------------------------------------------------------- */

static void add_writing(TCase *tests)
{
    tcase_add_test(tests, a_session_its_agent_and_its_events_are_one_write);
    tcase_add_test(tests, what_was_written_is_there_for_others_and_later);
    tcase_add_test(tests, writing_the_same_again_is_nothing);
    tcase_add_test(tests, a_batch_may_begin_with_what_is_there);
    tcase_add_test(tests, another_event_in_the_same_place_is_a_conflict);
    tcase_add_test(tests, nothing_and_an_empty_text_are_different);
    tcase_add_test(tests, a_batch_that_goes_wrong_late_leaves_nothing);
    tcase_add_test(tests, a_log_has_no_gaps);
    tcase_add_test(tests, where_it_belongs_must_be_there);
    tcase_add_test(tests, another_agent_of_the_same_number_is_a_conflict);
    tcase_add_test(tests, an_empty_batch_is_nothing);
    tcase_add_test(tests, an_error_does_not_spoil_what_follows);
    tcase_add_test(tests, two_connections_write_in_turns);
    tcase_add_test(tests, texts_of_every_sort);
    tcase_add_test(tests, data_of_every_sort);
    tcase_add_test(tests, data_nested_deeply);
    tcase_add_test(tests, kinds_are_any_text);
    tcase_add_test(tests, texts_of_every_length);
    tcase_add_test(tests, texts_of_two_megabytes);
    tcase_add_test(tests, times_of_every_sort);
}

static void add_reading(TCase *tests)
{
    tcase_add_test(tests, reading_begins_and_ends_where_it_should);
    tcase_add_test(tests, reading_while_reading);
    tcase_add_test(tests, sessions_are_apart);
    tcase_add_test(tests, records_are_not_counted);
    tcase_add_test(tests, there_is_no_such_session);
    tcase_add_test(tests, an_agent_knows_what_its_ancestors_knew);
    tcase_add_test(tests, agents_are_listed_as_they_were_written);
    tcase_add_test(tests, a_fork_goes_on_counting);
    tcase_add_test(tests, a_long_line_of_forks);
    tcase_add_test(tests, the_parent_of_an_agent_must_be_there);
    tcase_add_test(tests, figures_are_sums_over_answers);
    tcase_add_test(tests, figures_of_all_agents_count);
    tcase_add_test(tests, a_title_is_the_first_words_of_the_user);
    tcase_add_test(tests, a_long_title_is_cut);
    tcase_add_test(tests, the_title_stays);
    tcase_add_test(tests, the_last_used_is_listed_first);
    tcase_add_test(tests, a_folder_may_have_any_name);
    tcase_add_test(tests, a_session_is_found_by_how_its_id_begins);
    tcase_add_test(tests, what_cannot_begin_an_id_is_refused);
    tcase_add_test(tests, ids_are_fresh);
    tcase_add_test(tests, an_id_must_be_one);
    tcase_add_test(tests, a_removed_session_is_gone_and_the_others_stay);
    tcase_add_test(tests, a_tree_of_agents_is_removed);
    tcase_add_test(tests, a_session_has_one_writer);
    tcase_add_test(tests, a_dead_writer_is_succeeded);
}

static TCase *add_backend(Suite *suite, const char *name, void (*begin)(void))
{
    TCase *tests = tcase_create(name);
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, begin, tear_down);
    add_writing(tests);
    add_reading(tests);
    suite_add_tcase(suite, tests);
    return tests;
}

int main(void)
{
    Suite *suite = suite_create("store");
    TCase *sqlite = add_backend(suite, backend_names[BACKEND_SQLITE], set_up_sqlite);
    TCase *postgres = add_backend(suite, backend_names[BACKEND_POSTGRES], set_up_postgres);
    tcase_add_test(sqlite, an_id_may_be_used_again_after_removal);
    tcase_add_test(postgres, what_was_removed_stays_removed);
    return scratch_run(suite);
}

/* What only a server has: rights, other connections, a network between, JSONB. The promises both
 * kinds of stores make are in test_store.c. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netdb.h>
#include <pthread.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "store/postgres/postgres_schema.h"
#include "store/postgres/postgres_text.h"
#include "store/postgres/pq_wait.h"
#include "store/words/event_text.h"
#include "store/words/text_words.h"
#include "store_backend.h"
#include "store_log.h"

#define OTHER_ID "00000000000000b2"
#define FFFD "\xef\xbf\xbd"

enum { LONG_MS = 60000 };

static void *ctx;
static ik_store_t *store;
static ik_pq_link_t *other; /* another connection to the same database */

/* --- support ----------------------------------------------------------------------------- */

static ik_store_postgres_options_t options_for(const char *url)
{
    return (ik_store_postgres_options_t){
        .url = url, .wake_fd = -1, .connect_ms = LONG_MS, .command_ms = LONG_MS};
}

/* The URL of the database with more settings. */
static const char *url_with(const char *settings)
{
    const char *url = backend_postgres_url();
    return ik_sprintf(ctx, "%s%c%s", url, strchr(url, '?') == NULL ? '?' : '&', settings);
}

static ik_pq_link_t *link_up(void)
{
    ik_pq_link_t *link = NULL;
    ik_store_postgres_options_t options = options_for(url_with("application_name=other"));
    log_assert_ok(ik_pq_link_create(ctx, &options, &link));
    log_assert_ok(ik_pq_link_connect(link));
    return link;
}

static void run(const char *sql)
{
    log_assert_ok(ik_pq_link_run(ctx, other, sql, NULL, NULL));
}

/* The one value of an answer; "" for nothing. */
static const char *ask_by(ik_pq_link_t *link, const char *sql)
{
    ik_pq_rows_t *rows;
    log_assert_ok(ik_pq_link_run(ctx, link, sql, NULL, &rows));
    const char *text = rows->count == 0 ? NULL : ik_pq_rows_text(rows, 0, 0);
    return text == NULL ? "" : text;
}

static const char *ask(const char *sql)
{
    return ask_by(other, sql);
}

static ik_store_t *open_with(const ik_store_postgres_options_t *options)
{
    ik_store_t *opened = NULL;
    log_assert_ok(ik_store_postgres_open(ctx, options, &opened));
    return opened;
}

static res_t open_url(const char *url)
{
    ik_store_t *opened;
    ik_store_postgres_options_t options = options_for(url);
    return ik_store_postgres_open(ctx, &options, &opened);
}

static void set_up(void)
{
    backend_empty();
    ctx = talloc_new(NULL);
    ik_store_postgres_options_t options = options_for(url_with("application_name=ours"));
    store = open_with(&options);
    other = link_up();
}

static void tear_down(void)
{
    talloc_free(ctx);
}

#define OURS                                                                                       \
    "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'ours'"

/* Until the server answers so. */
static void await_answer(ik_pq_link_t *link, const char *sql, const char *expected)
{
    for (int i = 0; i < LONG_MS / 10 && strcmp(ask_by(link, sql), expected) != 0; i++) {
        usleep(10000);
    }
    ck_assert_str_eq(ask_by(link, sql), expected);
}

static void await_blocked(ik_pq_link_t *link)
{
    await_answer(link, "SELECT count(*) " OURS " AND wait_event_type = 'Lock'", "1");
}

static void kill_ours(ik_pq_link_t *link)
{
    ask_by(link, "SELECT pg_terminate_backend(pid) " OURS);
    await_answer(link, "SELECT count(*) " OURS, "0");
}

static void hold_session(void)
{
    run("BEGIN");
    run("SELECT 1 FROM ikigai.sessions WHERE id = '" LOG_ID "' FOR UPDATE");
}

static res_t read_list(ik_store_t *from, size_t *count)
{
    ik_store_list_t *list;
    TRY(ik_store_list(ctx, from, &(ik_store_filter_t){.limit = 0}, &list));
    *count = list->count;
    return OK;
}

static ik_store_hits_t *find(const char *text)
{
    ik_store_hits_t *hits;
    log_assert_ok(
        ik_store_search(ctx, store, &(ik_store_search_t){.text = text, .limit = 10}, &hits));
    return hits;
}

/* --- texts ------------------------------------------------------------------------------- */

/* What is written, and what of it can be asked for in SQL; NULL: nothing. */
static const char *const data_cases[][2] = {
    {"{\"b\" : 1.50, \"a\":\"x\"}", "{\"a\": \"x\", \"b\": 1.50}"},
    {"{\"a\":[{\"b\":[null,true,-1e-9]}]}", "{\"a\": [{\"b\": [null, true, -0.000000001]}]}"},
    {"{\"a\":\"\\u0000\",\"b\":2}", "{\"b\": 2}"},
    {"{\"a\\u0000\":1,\"b\":\"\\\\u0000\"}", "{\"b\": \"\\\\u0000\"}"},
    {"{\"a\":{\"b\":[\"x\\u0000\"]}}", NULL},
    {"{\"a\":\"\\ud83c\\udf63\",\"b\":\"\\ud83c\"}", "{\"a\": \"\xf0\x9f\x8d\xa3\"}"},
    {"{\"a\":\"\\udf63\\ud83c\",\"b\":\"\\uD83Cx\",\"c\":\"\\ud83c\\n\"}", NULL},
    {"{\"a\":1e400,\"b\":1e401,\"c\":1E+99999999999999999999,\"d\":-2e-1000000,\"e\":[1e999]}",
     "{\"a\": 1" /* and four hundred zeros */},
    {"{\"a\":\"1e9999 \\\" 1e9999\"}", "{\"a\": \"1e9999 \\\" 1e9999\"}"},
    {"{\"a\":1,\"a\":2}", "{\"a\": 2}"},
    {"{\"a\":\"\xff\xc3\"}", "{\"a\": \"" FFFD FFFD "\"}"},
    {"{}", NULL},
    {"[1]", NULL},
    {"null", NULL},
    {"{\"a\":", NULL},
    {"", NULL},
};

START_TEST(small_members_of_data_are_jsonb)
{
    const char *data = data_cases[_i][0];
    const char *expected = data_cases[_i][1];
    log_assert_ok(log_begin(store, LOG_ID));
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 1, "note", NULL, data)));
    ck_assert_str_eq(ask("SELECT data_json FROM ikigai.messages"),
                     ik_postgres_text_clean(ctx, data));
    ck_assert_str_eq(ask("SELECT data IS NULL FROM ikigai.messages"), expected == NULL ? "t" : "f");
    if (expected != NULL) {
        const char *found = ask("SELECT data::text FROM ikigai.messages");
        ck_assert_msg(strncmp(found, expected, strlen(expected)) == 0, "%s", found);
    }
}
END_TEST

/* A member may have 4,096 bytes with its name. */
START_TEST(large_members_of_data_are_text_alone)
{
    char *large = ik_new_array(ctx, char, 4097);
    memset(large, 'x', 4096);
    char *data =
        ik_sprintf(ctx, "{\"n\":1,\"fits\":\"%.4087s\",\"much\":\"%.4088s\"}", large, large);
    log_assert_ok(log_begin(store, LOG_ID));
    log_assert_ok(log_write_one(store, log_event(LOG_ID, 1, "note", NULL, data)));
    ck_assert_str_eq(ask("SELECT data - 'fits' FROM ikigai.messages"), "{\"n\": 1}");
    ck_assert_str_eq(ask("SELECT length(data->>'fits') FROM ikigai.messages"), "4087");
    ck_assert_str_eq(ask("SELECT data_json FROM ikigai.messages"), data);
}
END_TEST

START_TEST(bytes_that_are_no_text_become_signs_of_it)
{
    ik_store_session_t session = log_session(LOG_ID);
    ik_store_agent_t root = log_root(LOG_ID);
    ik_store_event_t event =
        log_event(LOG_ID, 1, "us\xff", "a\xff\xc3(\xed\xa0\x80", "{\"x\":\"\xfe\"}");
    session.model = session.host = "\x80";
    ik_store_batch_t batch = {&session, 1, &root, 1, &event, 1, IK_STORE_FULL};
    log_assert_ok(ik_store_write(store, &batch));
    log_assert_ok(ik_store_write(store, &batch));
    ck_assert_ptr_nonnull(strstr(log_dump(ctx, store, LOG_ID),
                                 " 5:us" FFFD " 17:a" FFFD FFFD "(" FFFD FFFD FFFD
                                 " 11:{\"x\":\"" FFFD "\"}\n"));
    event.content = "a" FFFD FFFD "(" FFFD FFFD FFFD;
    log_assert_ok(ik_store_write(store, &batch));
    event.content = "a" FFFD "(" FFFD FFFD FFFD;
    log_assert_code(ik_store_write(store, &batch), IK_ERR_CONFLICT);
}
END_TEST

START_TEST(a_conflict_begins_with_the_session)
{
    ik_store_agent_t fork = {.session_id = LOG_ID, .number = 1, .parent = 0, .forked_at = 1};
    log_say(store, LOG_ID, "hello");
    res_t event = log_write_one(store, log_event(LOG_ID, 1, "user", "else", NULL));
    res_t agent = ik_store_write(store, &(ik_store_batch_t){.agents = &fork, .agent_count = 1});
    log_assert_code(event, IK_ERR_CONFLICT);
    log_assert_code(agent, IK_ERR_CONFLICT);
    ck_assert_int_eq(strncmp(event.message, LOG_ID ": ", strlen(LOG_ID ": ")), 0);
    ck_assert_int_eq(strncmp(agent.message, LOG_ID ": ", strlen(LOG_ID ": ")), 0);
}
END_TEST

START_TEST(an_event_twice_in_a_batch_is_one)
{
    ik_store_event_t events[] = {log_event(LOG_ID, 1, "user", "hello", NULL),
                                 log_event(LOG_ID, 1, "user", "hello", NULL),
                                 log_event(LOG_ID, 2, "user", "more", NULL)};
    log_assert_ok(log_begin(store, LOG_ID));
    log_assert_ok(log_write(store, events, 3));
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).turns, 2);
    events[1].seq = 2;
    log_assert_code(log_write(store, events, 3), IK_ERR_CONFLICT);
}
END_TEST

/* More than goes into one statement, with what is there already among it. */
START_TEST(a_large_batch)
{
    enum { COUNT = 12000 };
    ik_store_event_t *events = ik_new_array(ctx, ik_store_event_t, COUNT);
    char *large = ik_new_array(ctx, char, 3000001);
    memset(large, 'y', 3000000);
    for (int i = 0; i < COUNT; i++) {
        events[i] = log_event(LOG_ID, i + 1, i % 2 == 0 ? "user" : "note", "words", NULL);
    }
    events[11000].content = events[11001].content = events[11002].content = large;
    log_assert_ok(log_begin(store, LOG_ID));
    log_assert_ok(log_write(store, events, 5500));
    log_assert_ok(log_write(store, events, COUNT));
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).messages, COUNT);
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).turns, COUNT / 2);
    char *log = log_dump_known(ctx, store, LOG_ID, 1);
    size_t lines = 0;
    for (const char *at = log; (at = strchr(at, '\n')) != NULL; at++) {
        lines++;
    }
    ck_assert_uint_eq(lines, COUNT);
    ck_assert_uint_gt(strlen(log), 9000000);
    ck_assert_int_eq(strncmp(log, "    1/1 ", 8), 0);
    ck_assert_ptr_nonnull(strstr(log, "\n    1/12000 "));
}
END_TEST

START_TEST(figures_without_measure_do_no_harm)
{
    static const char data[] = "{\"model\":\"p/m\",\"usage\":{\"in\":1125899906842624,\"out\":1},"
                               "\"cost_usd\":1.7e308}";
    log_assert_ok(log_begin(store, LOG_ID));
    for (int64_t seq = 1; seq <= 3; seq++) {
        log_assert_ok(log_write_one(store, log_event(LOG_ID, seq, "assistant", "a", data)));
    }
    ck_assert_int_eq(log_find(ctx, store, LOG_ID).usage.out, 3);
    ck_assert_str_eq(ask("SELECT count(*) FROM ikigai.usage"), "3");
}
END_TEST

/* --- words ------------------------------------------------------------------------------- */

static void say_text(const char *text)
{
    log_say(store, LOG_ID, text);
}

static void check_found(const char *text)
{
    ck_assert_msg(find(text)->count == 1, "%s is not found", text);
}

START_TEST(a_long_text_of_different_words)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    for (int i = 0; text.len < IK_EVENT_TEXT_MAX - 16; i++) {
        ik_buffer_append_format(&text, "%x ", i);
    }
    ik_buffer_append_text(&text, "the last words");
    say_text(text.data);
    check_found("0");
    check_found("4abc");
    check_found("\"last words\"");
    check_found("\"4abc 4abd 4abe\"");
    ck_assert_uint_eq(find("\"4abc 4abe\"")->count, 0);
}
END_TEST

START_TEST(the_longest_words)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    for (int i = 0; text.len < IK_EVENT_TEXT_MAX - 100; i++) {
        ik_buffer_append_format(&text, "%0*x ", IK_TEXT_WORD_MAX, i);
    }
    ik_buffer_append_text(&text, "end");
    say_text(text.data);
    check_found(ik_sprintf(ctx, "%0*x", IK_TEXT_WORD_MAX, 1000));
    check_found("end");
}
END_TEST

/* One character of three bytes that is eighteen when it is folded. */
START_TEST(words_that_grow)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&text, "begin ");
    while (text.len < IK_EVENT_TEXT_MAX - 8) {
        ik_buffer_append_text(&text, "\xef\xb7\xba\xef\xb7\xba ");
    }
    say_text(text.data);
    check_found("begin");
    check_found("\xef\xb7\xba\xef\xb7\xba");
}
END_TEST

START_TEST(one_word_everywhere)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    while (text.len < IK_EVENT_TEXT_MAX - 8) {
        ik_buffer_append_text(&text, "it's \\ ");
    }
    ik_buffer_append_text(&text, "over");
    say_text(text.data);
    check_found("it's over");
}
END_TEST

START_TEST(the_best_and_newest_first)
{
    ik_store_event_t events[] = {log_event(LOG_ID, 1, "user", "apple once", NULL),
                                 log_event(LOG_ID, 2, "user", "apple once", NULL),
                                 log_event(LOG_ID, 3, "user", "apple, apple and apple", NULL),
                                 log_event(LOG_ID, 4, "user", "pear", NULL),
                                 log_event(LOG_ID, 5, "system", "apple", NULL)};
    log_assert_ok(log_begin(store, LOG_ID));
    log_assert_ok(log_write(store, events, 5));
    log_say(store, OTHER_ID, "apple pie");
    ik_store_hits_t *hits = find("apple");
    ck_assert_uint_eq(hits->count, 4);
    ck_assert_int_eq(hits->hits[0].seq, 3);
    ck_assert_uint_eq(hits->hits[0].snippet.count, 3);
    ck_assert_int_eq(hits->hits[1].seq, 2);
    ck_assert_str_eq(hits->hits[1].title, "apple once");
    ck_assert_str_eq(hits->hits[1].snippet.text, "apple once");
    ik_store_search_t narrow = {.text = "app*", .session_id = OTHER_ID, .limit = 10};
    log_assert_ok(ik_store_search(ctx, store, &narrow, &hits));
    ck_assert_uint_eq(hits->count, 1);
    ck_assert_str_eq(hits->hits[0].session_id, OTHER_ID);
    ck_assert_str_eq(hits->hits[0].cwd, "/work");
}
END_TEST

/* --- deleting ---------------------------------------------------------------------------- */

#define USED "{\"model\":\"p/m\",\"usage\":{\"in\":1}}"

START_TEST(a_tombstone_stays_and_holds_nothing)
{
    ik_store_session_t session;
    ik_store_agent_t root = log_root(LOG_ID);
    ik_store_agent_t fork = {.session_id = LOG_ID, .number = 2, .parent = 1, .forked_at = 1};
    ik_store_session_t again = log_session(LOG_ID);
    ik_store_event_t events[] = {log_event(LOG_ID, 1, "user", "secret", NULL),
                                 log_event(LOG_ID, 2, "assistant", "secret", USED),
                                 log_event(LOG_ID, 3, "user", "later", NULL)};
    log_say(store, OTHER_ID, "secret of another");
    log_say(store, LOG_ID, "secret");
    log_assert_ok(log_write(store, events, 2));
    log_assert_ok(ik_store_remove(store, LOG_ID));
    log_assert_ok(
        ik_store_write(store, &(ik_store_batch_t){&again, 1, &root, 1, events, 3, IK_STORE_FULL}));
    log_assert_ok(ik_store_write(store, &(ik_store_batch_t){.agents = &fork, .agent_count = 1}));
    ck_assert_str_eq(ask("SELECT count(*) FROM ikigai.agents WHERE session_id = '" LOG_ID "'"),
                     "0");
    ck_assert_str_eq(ask("SELECT count(*) FROM ikigai.messages"), "1");
    ck_assert_str_eq(ask("SELECT count(*) FROM ikigai.usage"), "0");
    ck_assert_str_eq(ask("SELECT title || cwd || host || model || messages FROM ikigai.sessions"
                         " WHERE deleted_at > 1700000000000000"),
                     "0");
    log_assert_code(ik_store_find(ctx, store, LOG_ID, &session), IK_ERR_NOT_FOUND);
    log_assert_code(ik_store_remove(store, LOG_ID), IK_ERR_NOT_FOUND);
    ck_assert_uint_eq(find("secret")->count, 1);
    size_t count;
    log_assert_ok(read_list(store, &count));
    ck_assert_uint_eq(count, 1);
}
END_TEST

/* --- the connection ---------------------------------------------------------------------- */

START_TEST(a_connection_that_went_is_made_anew)
{
    size_t count;
    log_say(store, LOG_ID, "hello");
    char *before = log_dump_all(ctx, store);
    kill_ours(other);
    log_say(store, LOG_ID, "hello");
    ck_assert_str_eq(log_dump_all(ctx, store), before);
    for (int i = 0; i < 3; i++) {
        kill_ours(other);
        log_assert_ok(read_list(store, &count));
        ck_assert_uint_eq(count, 1);
    }
}
END_TEST

/* What another thread does once the store waits for a lock that another connection holds. */
typedef struct {
    ik_pq_link_t *link;
    void (*act)(ik_pq_link_t *link);
} act_t;

static void *run_act(void *data)
{
    act_t *act = data;
    await_blocked(act->link);
    act->act(act->link);
    return NULL;
}

/* Writes an event while another process holds its session. */
static res_t write_blocked(ik_store_t *by, void (*act)(ik_pq_link_t *))
{
    pthread_t thread;
    act_t what = {link_up(), act};
    hold_session();
    ck_assert_int_eq(pthread_create(&thread, NULL, run_act, &what), 0);
    res_t written = log_write_one(by, log_event(LOG_ID, 2, "user", "more", NULL));
    pthread_join(thread, NULL);
    run("ROLLBACK");
    return written;
}

/* That nothing of it is there, and that it can be written now. */
static void check_written_again(ik_store_t *by)
{
    ck_assert_str_eq(ask("SELECT count(*) FROM ikigai.messages"), "1");
    log_assert_ok(log_write_one(by, log_event(LOG_ID, 2, "user", "more", NULL)));
    log_assert_ok(log_write_one(by, log_event(LOG_ID, 2, "user", "more", NULL)));
    ck_assert_int_eq(log_find(ctx, by, LOG_ID).turns, 2);
    ck_assert_int_eq(log_find(ctx, by, LOG_ID).messages, 2);
}

START_TEST(a_connection_lost_in_the_middle_is_said)
{
    log_say(store, LOG_ID, "hello");
    res_t written = write_blocked(store, kill_ours);
    log_assert_code(written, IK_ERR_GONE);
    check_written_again(store);
}
END_TEST

static int wake[2];

static void wake_up(ik_pq_link_t *link)
{
    (void)link;
    ck_assert_int_eq(write(wake[1], "x", 1), 1);
}

START_TEST(who_is_woken_gives_up)
{
    char byte;
    size_t count;
    ck_assert_int_eq(pipe(wake), 0);
    ik_store_postgres_options_t options = options_for(url_with("application_name=ours"));
    options.wake_fd = wake[0];
    options.command_ms = 100 * LONG_MS;
    ik_store_t *second = open_with(&options);
    talloc_free(store); /* there is one of that name */
    log_say(second, LOG_ID, "hello");
    log_assert_code(write_blocked(second, wake_up), IK_ERR_GONE);
    log_assert_code(read_list(second, &count), IK_ERR_GONE);
    ck_assert_int_eq(read(wake[0], &byte, 1), 1); /* the store did not read it */
    check_written_again(second);
    wake_up(NULL);
    log_assert_code(read_list(second, &count), IK_ERR_GONE);
    ik_store_hits_t *hits;
    log_assert_ok(ik_store_search(ctx, second, &(ik_store_search_t){.text = "!?"}, &hits));
    ck_assert_uint_eq(hits->count, 0); /* without asking */
    ck_assert_int_eq(read(wake[0], &byte, 1), 1);
    log_assert_ok(read_list(second, &count));
    close(wake[0]);
    close(wake[1]);
}
END_TEST

static res_t on_body_woken(void *data)
{
    wake_up(data);
    return ERR(LIMIT, "enough");
}

/* Who may not even say ROLLBACK hangs up, and the server does it. */
START_TEST(no_transaction_stays_open)
{
    ik_pq_link_t *link = NULL;
    ik_store_postgres_options_t options = options_for(url_with("application_name=theirs"));
    ck_assert_int_eq(pipe(wake), 0);
    options.wake_fd = wake[0];
    log_assert_ok(ik_pq_link_create(ctx, &options, &link));
    log_assert_ok(ik_pq_link_connect(link));
    log_assert_code(ik_pq_link_transact(link, on_body_woken, NULL), IK_ERR_LIMIT);
    ck_assert(!ik_pq_link_is_up(link));
    await_answer(other, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'theirs'",
                 "0");
    close(wake[0]);
    close(wake[1]);
}
END_TEST

/* The server gives up first: the connection, and with it a claim, stays. */
START_TEST(a_statement_takes_its_time_at_most)
{
    ik_holder_t self = ik_holder_self();
    ik_holder_t holder;
    ik_store_postgres_options_t options = options_for(url_with("application_name=patient"));
    options.command_ms = 1000;
    ik_store_t *second = open_with(&options);
    log_say(second, LOG_ID, "hello");
    log_assert_ok(ik_store_claim(second, LOG_ID, &self, &holder));
    const char *pid = ask("SELECT pid FROM pg_stat_activity WHERE application_name = 'patient'");
    hold_session();
    res_t written = log_write_one(second, log_event(LOG_ID, 2, "user", "more", NULL));
    log_assert_code(written, IK_ERR_GONE);
    run("ROLLBACK");
    check_written_again(second);
    ck_assert_str_eq(ask("SELECT pid FROM pg_stat_activity WHERE application_name = 'patient'"),
                     pid);
    ck_assert_str_eq(ask("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                         " AND state LIKE '%in trans%'"),
                     "0");
}
END_TEST

/* A socket that takes connections and says nothing. */
static int listen_to_nobody(in_port_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(fd, 5), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static const char *local_url(const char *host, in_port_t port)
{
    return ik_sprintf(ctx, "postgresql://me:s3cret@%s:%u/db?sslmode=disable", host, port);
}

START_TEST(a_black_hole_is_left_in_time)
{
    in_port_t port;
    ik_store_t *opened;
    int fd = listen_to_nobody(&port);
    ik_store_postgres_options_t options = options_for(local_url("127.0.0.1", port));
    options.connect_ms = 300;
    int64_t start = ik_clock_now_ms();
    log_assert_code(ik_store_postgres_open(ctx, &options, &opened), IK_ERR_GONE);
    ck_assert_int_ge(ik_clock_now_ms() - start, 300);
    ck_assert_int_lt(ik_clock_now_ms() - start, LONG_MS / 2);
    ck_assert_int_eq(pipe(wake), 0);
    wake_up(NULL);
    options.wake_fd = wake[0];
    options.connect_ms = 100 * LONG_MS;
    log_assert_code(ik_store_postgres_open(ctx, &options, &opened), IK_ERR_GONE);
    options.url = local_url("localhost", port);
    log_assert_code(ik_store_postgres_open(ctx, &options, &opened), IK_ERR_GONE);
    close(wake[0]);
    close(wake[1]);
    close(fd);
    options.wake_fd = -1;
    res_t refused = ik_store_postgres_open(ctx, &options, &opened);
    log_assert_code(refused, IK_ERR_GONE);
    ck_assert_ptr_nonnull(strstr(refused.message, "refused"));
    ck_assert_ptr_null(strstr(refused.message, "s3cret"));
}
END_TEST

/* In place of the C library's, which asks the network: one name is this machine's, of another one
 * it does not say anything until it is let go. libpq, which would ask with a port, must not. */
static int resolver[2];

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **out)
{
    int (*ask_system)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
        dlsym(RTLD_NEXT, "getaddrinfo");
    char byte;
    if (strcmp(name, "slow.test") == 0) {
        return read(resolver[0], &byte, 1) == 0 ? EAI_NONAME : EAI_SYSTEM;
    }
    if (strcmp(name, "known.test") == 0) {
        return service == NULL ? ask_system("127.0.0.1", service, hints, out) : EAI_NONAME;
    }
    return ask_system(name, service, hints, out);
}

START_TEST(a_slow_resolver_is_left_in_time)
{
    ik_store_t *opened;
    ik_store_postgres_options_t options = options_for("postgresql://me:s3cret@slow.test/db");
    ck_assert_int_eq(pipe(resolver), 0);
    options.connect_ms = 200;
    res_t late = ik_store_postgres_open(ctx, &options, &opened);
    log_assert_code(late, IK_ERR_GONE);
    ck_assert_ptr_nonnull(strstr(late.message, "slow.test"));
    ck_assert_int_eq(pipe(wake), 0);
    wake_up(NULL);
    options.wake_fd = wake[0];
    options.connect_ms = 100 * LONG_MS;
    log_assert_code(ik_store_postgres_open(ctx, &options, &opened), IK_ERR_GONE);
    options.wake_fd = -1;
    close(resolver[1]);
    res_t unknown = ik_store_postgres_open(ctx, &options, &opened);
    log_assert_code(unknown, IK_ERR_GONE);
    ck_assert_ptr_nonnull(strstr(unknown.message, gai_strerror(EAI_NONAME)));
    close(wake[0]);
    close(wake[1]);
}
END_TEST

/* --- being let in ------------------------------------------------------------------------ */

/* A server that wants a password and complains with it. */
static void *complain(void *data)
{
    static const char want[] = {'R', 0, 0, 0, 8, 0, 0, 0, 3};
    char text[1024];
    char answer[256] = {'E', 0, 0, 0};
    int fd = accept4(*(int *)data, NULL, NULL, SOCK_CLOEXEC);
    ck_assert_int_gt(recv(fd, text, sizeof(text), 0), 0);
    ck_assert_int_eq(send(fd, want, sizeof(want), MSG_NOSIGNAL), sizeof(want));
    ssize_t got = recv(fd, text, sizeof(text) - 1, 0);
    ck_assert_int_gt(got, 5);
    text[got] = '\0';
    int len = snprintf(answer + 5, sizeof(answer) - 5,
                       "SFATAL%cC28P01%cMno entry with %s for \"me\"%c%c", 0, 0, text + 5, 0, 0);
    answer[4] = (char)(len + 4);
    ck_assert_int_eq(send(fd, answer, (size_t)len + 5, MSG_NOSIGNAL), len + 5);
    close(fd);
    return NULL;
}

START_TEST(a_password_is_never_said)
{
    in_port_t port;
    pthread_t thread;
    int fd = listen_to_nobody(&port);
    ck_assert_int_eq(pthread_create(&thread, NULL, complain, &fd), 0);
    /* Nothing listens at the first; the second is found by its name. */
    res_t refused = open_url(ik_sprintf(
        ctx, "postgresql://me:s3cr%%65t@127.0.0.1:1,known.test:%u/db?sslmode=disable", port));
    pthread_join(thread, NULL);
    close(fd);
    log_assert_code(refused, IK_ERR_DENIED);
    ck_assert_msg(strstr(refused.message, "no entry with ****** for \"me\"") != NULL, "%s",
                  refused.message);
}
END_TEST

static const char *const wrong_urls[] = {
    "",
    "s3cret",
    "mysql://me:s3cret@host/db",
    "dbname=x password=s3cret",
    "postgresql://me:s3cret@127.0.0.1:1/db?nonsense=1",
    "postgresql://me:s3cret@127.0.0.1:1/db?s3cret",
    "postgresql://me:s3cret@[::1/db",
    "postgresql://me:s3cret%zz@127.0.0.1/db",
    "postgresql://me:%00s3cret@127.0.0.1/db",
    "postgresql://me:x@s3cret@127.0.0.1/db",
    "postgresql://me:x/s3cret@127.0.0.1/db",
    "postgresql://127.0.0.1:s3cret/db",
    "postgresql://me:s3cret/x?y@127.0.0.1/db",
    "postgresql://127.0.0.1:1/db?password=s3cret&sslmode=s3cret",
    "postgresql://127.0.0.1:1/db?password=s3cret&keepalives_idle=s3cret",
    "postgresql://127.0.0.1:0/db?password=s3cret",
    "postgresql://127.0.0.1:99999/db?password=s3cret",
    "postgresql://127.0.0.1,127.0.0.1/db?port=1,2,3&password=s3cret",
};

START_TEST(a_wrong_url_is_refused)
{
    res_t refused = open_url(wrong_urls[_i]);
    log_assert_code(refused, IK_ERR_INVALID);
    ck_assert_str_ne(refused.message, "");
    ck_assert_msg(strstr(refused.message, "s3cret") == NULL, "%s", refused.message);
}
END_TEST

static const char *role;

static void make_role(void)
{
    role = ik_sprintf(ctx, "ikigai_test_%d", getpid());
    run(ik_sprintf(ctx, "CREATE ROLE %s LOGIN", role));
}

static void drop_role(void)
{
    run(ik_sprintf(ctx, "DROP OWNED BY %s", role));
    run(ik_sprintf(ctx, "DROP ROLE %s", role));
}

static void check_denied(const char *advice)
{
    res_t refused = open_url(url_with(ik_sprintf(ctx, "user=%s", role)));
    bool advised = refused.code == IK_ERR_DENIED && strstr(refused.message, advice) != NULL;
    if (!advised) {
        drop_role();
    }
    ck_assert_msg(advised, "%d %s", refused.code, refused.message);
}

START_TEST(who_may_not_is_told_what_to_grant)
{
    make_role();
    check_denied("GRANT USAGE ON SCHEMA ikigai TO");
    run("DROP SCHEMA ikigai CASCADE");
    check_denied("GRANT CREATE ON DATABASE \"");
    run("CREATE SCHEMA ikigai");
    check_denied("GRANT USAGE, CREATE ON SCHEMA ikigai TO");
    ck_assert_str_eq(ask("SELECT count(*) FROM pg_tables WHERE schemaname = 'ikigai'"), "0");
    log_assert_ok(open_url(backend_postgres_url()));
    run(ik_sprintf(ctx, "GRANT USAGE ON SCHEMA ikigai TO %s", role));
    run(ik_sprintf(ctx, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ikigai TO %s",
                   role));
    ik_store_postgres_options_t options = options_for(url_with(ik_sprintf(ctx, "user=%s", role)));
    ik_store_t *theirs = open_with(&options);
    ik_holder_t self = ik_holder_self();
    ik_holder_t holder;
    log_assert_ok(ik_store_claim(theirs, LOG_ID, &self, &holder));
    log_say(theirs, LOG_ID, "hello");
    log_assert_ok(ik_store_remove(theirs, LOG_ID));
    talloc_free(theirs);
    drop_role();
}
END_TEST

START_TEST(who_is_not_known_is_not_let_in)
{
    log_assert_code(open_url(url_with("user=nobody_of_this_name")), IK_ERR_DENIED);
    log_assert_code(open_url(url_with("dbname=nothing_of_this_name")), IK_ERR_DENIED);
    log_assert_code(open_url(url_with("host=/nowhere")), IK_ERR_GONE);
}
END_TEST

START_TEST(a_database_in_another_encoding_is_refused)
{
    char *name = ik_sprintf(ctx, "ikigai_latin_%d", getpid());
    run(ik_sprintf(ctx, "CREATE DATABASE %s ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0",
                   name));
    res_t refused = open_url(url_with(ik_sprintf(ctx, "dbname=%s", name)));
    run(ik_sprintf(ctx, "DROP DATABASE %s (FORCE)", name));
    log_assert_code(refused, IK_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(refused.message, "LATIN1"));
}
END_TEST

/* --- the schema -------------------------------------------------------------------------- */

START_TEST(a_newer_schema_is_refused)
{
    size_t count;
    run("INSERT INTO ikigai.schema_version VALUES(99)");
    res_t refused = open_url(backend_postgres_url());
    log_assert_code(refused, IK_ERR_CONFLICT);
    ck_assert_ptr_nonnull(
        strstr(refused.message, ik_sprintf(ctx, "newer ikigai (schema 99, this program knows %d)",
                                           IK_POSTGRES_SCHEMA)));
    kill_ours(other); /* while it was away */
    log_assert_code(read_list(store, &count), IK_ERR_CONFLICT);
    run("DELETE FROM ikigai.schema_version WHERE version = 99");
    log_assert_ok(read_list(store, &count));
}
END_TEST

typedef struct {
    pthread_t thread;
    const char *url;
    void *ctx;
    res_t opened;
    ik_store_t *store;
} opener_t;

static void *run_opener(void *data)
{
    opener_t *opener = data;
    ik_store_postgres_options_t options = options_for(opener->url);
    opener->opened = ik_store_postgres_open(opener->ctx, &options, &opener->store);
    return NULL;
}

START_TEST(several_may_migrate_at_once)
{
    enum { COUNT = 6 };
    opener_t openers[COUNT];
    run("DROP SCHEMA ikigai CASCADE");
    for (size_t i = 0; i < COUNT; i++) {
        openers[i] = (opener_t){.url = backend_postgres_url(), .ctx = talloc_new(NULL)};
        ck_assert_int_eq(pthread_create(&openers[i].thread, NULL, run_opener, &openers[i]), 0);
    }
    for (size_t i = 0; i < COUNT; i++) {
        pthread_join(openers[i].thread, NULL);
        log_assert_ok(openers[i].opened);
        ck_assert_str_eq(ik_store_postgres_identity(openers[i].store),
                         ask("SELECT id FROM ikigai.identity"));
    }
    ck_assert_str_eq(ask("SELECT count(*) || ':' || max(version) FROM ikigai.schema_version"),
                     ik_sprintf(ctx, "%d:%d", IK_POSTGRES_SCHEMA, IK_POSTGRES_SCHEMA));
    for (size_t i = 0; i < COUNT; i++) {
        talloc_free(openers[i].ctx);
    }
}
END_TEST

START_TEST(another_history_in_its_place_is_noticed)
{
    size_t count;
    const char *identity = ik_strdup(ctx, ik_store_postgres_identity(store));
    ck_assert_uint_eq(strlen(identity), 32);
    kill_ours(other);
    log_assert_ok(read_list(store, &count));
    ck_assert_str_eq(ik_store_postgres_identity(store), identity);
    run("DROP SCHEMA ikigai CASCADE");
    kill_ours(other);
    log_assert_code(read_list(store, &count), IK_ERR_GONE);
    ck_assert_str_ne(ik_store_postgres_identity(store), identity);
    log_assert_ok(read_list(store, &count));
}
END_TEST

START_TEST(the_library_has_a_version)
{
    char *text;
    log_assert_ok(ik_store_postgres_describe(ctx, &text));
    ck_assert_int_eq(strncmp(text, "libpq 1", 7), 0);
    ck_assert_ptr_nonnull(strchr(text, '.'));
}
END_TEST

/* --- claims ------------------------------------------------------------------------------ */

static const ik_holder_t here = {.pid = 1, .started = 0, .host = "here"};
static const ik_holder_t there = {.pid = 2, .started = 7, .host = "there"};

static ik_store_t *open_there(void)
{
    ik_store_postgres_options_t options = options_for(url_with("application_name=theirs"));
    return open_with(&options);
}

static res_t claim(ik_store_t *by, const ik_holder_t *self)
{
    ik_holder_t holder = {0};
    res_t claimed = ik_store_claim(by, LOG_ID, self, &holder);
    if (claimed.code == IK_ERR_CONFLICT) {
        ck_assert(ik_holder_equal(&holder, self == &here ? &there : &here));
    }
    return claimed;
}

START_TEST(a_claim_ends_with_its_connection)
{
    ik_store_t *second = open_there();
    log_assert_ok(claim(store, &here));
    log_assert_code(claim(second, &there), IK_ERR_CONFLICT);
    kill_ours(other);
    log_assert_ok(claim(second, &there));
    log_assert_code(claim(store, &here), IK_ERR_CONFLICT);
    talloc_free(second);
    await_answer(other, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'", "0");
    log_assert_ok(claim(store, &here));
}
END_TEST

START_TEST(claims_are_taken_again_with_a_new_connection)
{
    size_t count;
    ik_store_t *second = open_there();
    log_assert_ok(claim(store, &here));
    kill_ours(other);
    log_assert_ok(read_list(store, &count));
    log_assert_code(claim(second, &there), IK_ERR_CONFLICT);
    log_assert_ok(ik_store_release(store, LOG_ID, &here));
    log_assert_ok(claim(second, &there));
}
END_TEST

START_TEST(claiming_twice_is_released_once)
{
    ik_store_t *second = open_there();
    log_assert_ok(claim(store, &here));
    log_assert_ok(claim(store, &here));
    log_assert_code(claim(store, &there), IK_ERR_CONFLICT);
    log_assert_ok(ik_store_release(store, LOG_ID, &there)); /* who does not hold it */
    log_assert_code(claim(second, &there), IK_ERR_CONFLICT);
    log_assert_ok(ik_store_release(store, LOG_ID, &here));
    ck_assert_str_eq(ask("SELECT count(*) FROM ikigai.holders"), "0");
    log_assert_ok(claim(second, &there));
    ik_holder_t holder;
    log_assert_code(ik_store_claim(store, "no id", &here, &holder), IK_ERR_INVALID);
}
END_TEST

/* --- all of them ------------------------------------------------------------------------- */

static void add_texts(TCase *tests)
{
    tcase_add_loop_test(tests, small_members_of_data_are_jsonb, 0,
                        (int)(sizeof(data_cases) / sizeof(data_cases[0])));
    tcase_add_test(tests, large_members_of_data_are_text_alone);
    tcase_add_test(tests, bytes_that_are_no_text_become_signs_of_it);
    tcase_add_test(tests, a_conflict_begins_with_the_session);
    tcase_add_test(tests, an_event_twice_in_a_batch_is_one);
    tcase_add_test(tests, a_large_batch);
    tcase_add_test(tests, figures_without_measure_do_no_harm);
    tcase_add_test(tests, a_long_text_of_different_words);
    tcase_add_test(tests, the_longest_words);
    tcase_add_test(tests, words_that_grow);
    tcase_add_test(tests, one_word_everywhere);
    tcase_add_test(tests, the_best_and_newest_first);
    tcase_add_test(tests, a_tombstone_stays_and_holds_nothing);
}

static void add_connections(TCase *tests)
{
    tcase_add_test(tests, a_connection_that_went_is_made_anew);
    tcase_add_test(tests, a_connection_lost_in_the_middle_is_said);
    tcase_add_test(tests, who_is_woken_gives_up);
    tcase_add_test(tests, no_transaction_stays_open);
    tcase_add_test(tests, a_statement_takes_its_time_at_most);
    tcase_add_test(tests, a_black_hole_is_left_in_time);
    tcase_add_test(tests, a_slow_resolver_is_left_in_time);
    tcase_add_test(tests, a_password_is_never_said);
    tcase_add_loop_test(tests, a_wrong_url_is_refused, 0,
                        (int)(sizeof(wrong_urls) / sizeof(wrong_urls[0])));
    tcase_add_test(tests, who_may_not_is_told_what_to_grant);
    tcase_add_test(tests, who_is_not_known_is_not_let_in);
    tcase_add_test(tests, a_database_in_another_encoding_is_refused);
    tcase_add_test(tests, a_newer_schema_is_refused);
    tcase_add_test(tests, several_may_migrate_at_once);
    tcase_add_test(tests, another_history_in_its_place_is_noticed);
    tcase_add_test(tests, the_library_has_a_version);
    tcase_add_test(tests, a_claim_ends_with_its_connection);
    tcase_add_test(tests, claims_are_taken_again_with_a_new_connection);
    tcase_add_test(tests, claiming_twice_is_released_once);
}

int main(void)
{
    Suite *suite = suite_create("store_postgres");
    TCase *tests = tcase_create("store_postgres");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    add_texts(tests);
    add_connections(tests);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}

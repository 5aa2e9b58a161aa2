/* What a server does not have yet of the SQLite file: all of it arrives, in order, once. */
#include "store_backend.h"
#include "store_log.h"

#define SERVER "a server"

static void *ctx;
static ik_store_t *store;
static ik_store_t *server;

static void set_up(void)
{
    scratch_empty();
    ctx = talloc_new(NULL);
    store = backend_open(ctx, BACKEND_SQLITE);
    server = backend_open_file(ctx, ":memory:");
}

static void tear_down(void)
{
    talloc_free(ctx);
}

/* One batch; returns how many events were in it. */
static size_t deliver_some(void)
{
    ik_store_batch_t batch;
    int64_t last;
    log_assert_ok(ik_store_sqlite_undelivered(ctx, store, SERVER, &batch, &last));
    if (batch.event_count > 0) {
        log_assert_ok(ik_store_write(server, &batch));
        log_assert_ok(ik_store_sqlite_mark_delivered(store, SERVER, last));
    }
    return batch.event_count;
}

static size_t deliver_all(void)
{
    size_t sum = 0;
    for (size_t some = deliver_some(); some > 0; some = deliver_some()) {
        sum += some;
    }
    return sum;
}

static void say(const char *id, int64_t seq, const char *words)
{
    log_assert_ok(log_write_one(store, log_event(id, seq, "user", words, NULL)));
}

static void check_same(void)
{
    log_assert_same(log_dump_all(ctx, store), log_dump_all(ctx, server));
}

START_TEST(each_event_is_delivered_once)
{
    ck_assert_uint_eq(deliver_all(), 0);
    log_say(store, LOG_ID, "hello");
    say(LOG_ID, 2, "more");
    ck_assert_uint_eq(deliver_all(), 2);
    ck_assert_uint_eq(deliver_all(), 0);
    check_same();
    say(LOG_ID, 3, "even more");
    log_say(store, "00000000000000b1", "another");
    ck_assert_uint_eq(deliver_all(), 2);
    check_same();
}
END_TEST

START_TEST(the_order_is_that_of_writing)
{
    ik_store_batch_t batch;
    int64_t last;
    log_say(store, LOG_ID, "1");
    log_say(store, "00000000000000b1", "2");
    say(LOG_ID, 2, "3");
    say("00000000000000b1", 2, "4");
    log_assert_ok(ik_store_sqlite_undelivered(ctx, store, SERVER, &batch, &last));
    ck_assert_uint_eq(batch.event_count, 4);
    ck_assert_uint_eq(batch.session_count, 2);
    ck_assert_uint_eq(batch.agent_count, 2);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_str_eq(batch.events[i].content, ik_sprintf(ctx, "%zu", i + 1));
    }
}
END_TEST

/* Nothing is lost when the mark was not set, and another server has a mark of its own. */
START_TEST(the_mark_decides)
{
    ik_store_batch_t batch;
    int64_t last;
    log_say(store, LOG_ID, "hello");
    for (int times = 0; times < 2; times++) {
        log_assert_ok(ik_store_sqlite_undelivered(ctx, store, SERVER, &batch, &last));
        ck_assert_uint_eq(batch.event_count, 1);
        log_assert_ok(ik_store_write(server, &batch));
    }
    ck_assert_uint_eq(deliver_all(), 1);
    check_same();
    log_assert_ok(ik_store_sqlite_undelivered(ctx, store, "another", &batch, &last));
    ck_assert_uint_eq(batch.event_count, 1);
}
END_TEST

START_TEST(much_is_delivered_in_parts)
{
    enum { EVENTS = 60, SIZE = 100000 };
    char *words = ik_new_array(ctx, char, SIZE + 1);
    memset(words, 'w', SIZE);
    log_assert_ok(log_begin(store, LOG_ID));
    for (int64_t seq = 1; seq <= EVENTS; seq++) {
        say(LOG_ID, seq, words);
    }
    size_t first = deliver_some();
    ck_assert_uint_ge(first, 1);
    ck_assert_uint_le(first, EVENTS / 2);
    ck_assert_uint_eq(first + deliver_all(), EVENTS);
    check_same();
}
END_TEST

START_TEST(many_small_events_are_delivered)
{
    enum { EVENTS = 5000 };
    ik_store_event_t *events = ik_new_array(ctx, ik_store_event_t, EVENTS);
    log_assert_ok(log_begin(store, LOG_ID));
    for (int64_t i = 0; i < EVENTS; i++) {
        events[i] = log_event(LOG_ID, i + 1, "note", NULL, NULL);
    }
    log_assert_ok(log_write(store, events, EVENTS));
    ck_assert_uint_eq(deliver_all(), EVENTS);
    check_same();
}
END_TEST

START_TEST(forks_are_delivered)
{
    ik_store_agent_t fork = {.session_id = LOG_ID, .number = 2, .parent = 1, .forked_at = 1};
    ik_store_event_t event = log_event(LOG_ID, 2, "user", "another way", NULL);
    log_say(store, LOG_ID, "hello");
    ck_assert_uint_eq(deliver_all(), 1);
    log_assert_ok(ik_store_write(store, &(ik_store_batch_t){.agents = &fork, .agent_count = 1}));
    event.agent = 2;
    log_assert_ok(log_write_one(store, event));
    ck_assert_uint_eq(deliver_all(), 1);
    check_same();
}
END_TEST

/* The place of what was removed may be given to what comes. */
START_TEST(what_follows_a_removal_is_delivered)
{
    log_say(store, LOG_ID, "stays");
    log_say(store, "00000000000000b1", "goes");
    say("00000000000000b1", 2, "goes, too");
    ck_assert_uint_eq(deliver_all(), 3);
    log_assert_ok(ik_store_remove(store, "00000000000000b1"));
    log_assert_ok(ik_store_remove(server, "00000000000000b1"));
    say(LOG_ID, 2, "new");
    log_say(store, "00000000000000b2", "newer");
    ck_assert_uint_eq(deliver_all(), 2);
    check_same();
}
END_TEST

START_TEST(a_renamed_session_is_delivered_from_its_beginning)
{
    static const char other[] = "00000000000000c1";
    log_say(store, LOG_ID, "common");
    log_say(store, "00000000000000b1", "another");
    ck_assert_uint_eq(deliver_all(), 2);
    say(LOG_ID, 2, "here");
    char *here = log_dump(ctx, store, LOG_ID);
    log_assert_ok(log_write_one(server, log_event(LOG_ID, 2, "user", "there", NULL)));
    log_assert_ok(ik_store_sqlite_rename(store, LOG_ID, other));
    ck_assert_str_eq(log_dump(ctx, store, other), here);
    ck_assert_uint_ge(deliver_all(), 2);
    log_assert_same(log_dump(ctx, server, other), here);
    ck_assert_ptr_nonnull(strstr(log_dump(ctx, server, LOG_ID), "there"));
    ck_assert_ptr_null(strstr(log_dump(ctx, server, LOG_ID), "here\n"));
    ck_assert_str_eq(log_dump(ctx, store, "00000000000000b1"),
                     log_dump(ctx, server, "00000000000000b1"));
}
END_TEST

START_TEST(the_writer_of_a_renamed_session_goes_on)
{
    static const char other[] = "00000000000000c1";
    ik_holder_t self = ik_holder_self();
    ik_holder_t somebody = {.pid = self.pid, .host = "elsewhere"};
    ik_holder_t holder;
    log_say(store, LOG_ID, "hello");
    log_assert_ok(ik_store_claim(store, LOG_ID, &self, &holder));
    log_assert_ok(ik_store_sqlite_rename(store, LOG_ID, other));
    log_assert_code(ik_store_claim(store, other, &somebody, &holder), IK_ERR_CONFLICT);
    log_assert_ok(ik_store_claim(store, LOG_ID, &somebody, &holder));
    say(other, 2, "more");
    ck_assert_int_eq(log_find(ctx, store, other).messages, 2);
    log_assert_code(log_write_one(store, log_event(LOG_ID, 2, "user", "x", NULL)),
                    IK_ERR_NOT_FOUND);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_delivery");
    TCase *tests = tcase_create("delivery");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, each_event_is_delivered_once);
    tcase_add_test(tests, the_order_is_that_of_writing);
    tcase_add_test(tests, the_mark_decides);
    tcase_add_test(tests, much_is_delivered_in_parts);
    tcase_add_test(tests, many_small_events_are_delivered);
    tcase_add_test(tests, forks_are_delivered);
    tcase_add_test(tests, what_follows_a_removal_is_delivered);
    tcase_add_test(tests, a_renamed_session_is_delivered_from_its_beginning);
    tcase_add_test(tests, the_writer_of_a_renamed_session_goes_on);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}

/* Tests of delivery from the SQLite file: everything that is shared with a server arrives there, in
 * order, once, and nothing else does. */
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
    log_assert_ok(ik_store_sqlite_set_consent(store, SERVER, IK_STORE_SHARE_ALL));
}

static void tear_down(void)
{
    talloc_free(ctx);
}

/* Delivers one batch; returns its number of events. */
static size_t deliver_some(bool *more)
{
    ik_store_batch_t batch;
    ik_store_delivered_t mark;
    log_assert_ok(ik_store_sqlite_undelivered(ctx, store, SERVER, &batch, &mark));
    *more = mark.last != 0;
    if (batch.event_count > 0) {
        log_assert_ok(ik_store_write(server, &batch));
    }
    if (*more) {
        log_assert_ok(ik_store_sqlite_mark_delivered(store, SERVER, &mark));
    }
    return batch.event_count;
}

static size_t deliver_all(void)
{
    size_t sum = 0;
    bool more = true;
    while (more) {
        sum += deliver_some(&more);
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
    ik_store_delivered_t mark;
    log_say(store, LOG_ID, "1");
    log_say(store, "00000000000000b1", "2");
    say(LOG_ID, 2, "3");
    say("00000000000000b1", 2, "4");
    log_assert_ok(ik_store_sqlite_undelivered(ctx, store, SERVER, &batch, &mark));
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
    ik_store_delivered_t mark;
    log_say(store, LOG_ID, "hello");
    for (int times = 0; times < 2; times++) {
        log_assert_ok(ik_store_sqlite_undelivered(ctx, store, SERVER, &batch, &mark));
        ck_assert_uint_eq(batch.event_count, 1);
        log_assert_ok(ik_store_write(server, &batch));
    }
    ck_assert_uint_eq(deliver_all(), 1);
    check_same();
    log_assert_ok(ik_store_sqlite_set_consent(store, "another", IK_STORE_SHARE_ALL));
    log_assert_ok(ik_store_sqlite_undelivered(ctx, store, "another", &batch, &mark));
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
    bool more;
    size_t first = deliver_some(&more);
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

/* Ids of removed messages may be reused. */
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
    ik_holder_t stranger = {.pid = self.pid, .host = "elsewhere"};
    ik_holder_t holder;
    log_say(store, LOG_ID, "hello");
    log_assert_ok(ik_store_claim(store, LOG_ID, &self, &holder));
    log_assert_ok(ik_store_sqlite_rename(store, LOG_ID, other));
    log_assert_code(ik_store_claim(store, other, &stranger, &holder), IK_ERR_CONFLICT);
    log_assert_ok(ik_store_claim(store, LOG_ID, &stranger, &holder));
    say(other, 2, "more");
    ck_assert_int_eq(log_find(ctx, store, other).messages, 2);
    log_assert_code(log_write_one(store, log_event(LOG_ID, 2, "user", "x", NULL)),
                    IK_ERR_NOT_FOUND);
}
END_TEST

/* --- what is shared and what is not ---------------------------------------------------------- */

#define ADDRESS "where it answers"
#define OTHER_ID "00000000000000b1"

static void forget_consent(void)
{
    log_assert_ok(ik_store_sqlite_set_consent(store, SERVER, IK_STORE_SHARE_UNDECIDED));
}

static void check_same_session(const char *id)
{
    log_assert_same(log_dump(ctx, store, id), log_dump(ctx, server, id));
}

static res_t find_there(const char *id)
{
    ik_store_session_t session;
    return ik_store_find(ctx, server, id, &session);
}

static bool adopt(void)
{
    bool first;
    log_assert_ok(ik_store_sqlite_adopt(store, ADDRESS, SERVER, &first));
    return first;
}

static int64_t count_withheld(void)
{
    ik_store_consent_t consent;
    ik_store_list_t *list;
    ik_store_filter_t filter = {.limit = 0};
    int64_t count;
    log_assert_ok(ik_store_sqlite_read_consent(store, SERVER, &consent, &count));
    log_assert_ok(ik_store_sqlite_list_withheld(ctx, store, SERVER, &filter, &list));
    ck_assert_int_eq((int64_t)list->count, count);
    return count;
}

START_TEST(only_what_is_shared_is_delivered)
{
    forget_consent();
    log_say(store, OTHER_ID, "before");
    log_assert_ok(ik_store_sqlite_share(store, ADDRESS, LOG_ID));
    log_say(store, LOG_ID, "shared");
    ck_assert_uint_eq(deliver_all(), 0); /* the server at the address is not known yet */
    ck_assert(!adopt());
    ck_assert_uint_eq(deliver_all(), 1);
    say(OTHER_ID, 2, "still not");
    say(LOG_ID, 2, "more");
    ck_assert_uint_eq(deliver_all(), 1);
    ck_assert_int_eq(count_withheld(), 1);
    check_same_session(LOG_ID);
    log_assert_code(find_there(OTHER_ID), IK_ERR_NOT_FOUND);
}
END_TEST

START_TEST(an_older_session_is_shared_later)
{
    forget_consent();
    log_say(store, OTHER_ID, "before");
    log_say(store, LOG_ID, "shared");
    log_assert_ok(ik_store_sqlite_share(store, ADDRESS, LOG_ID));
    adopt();
    ck_assert_uint_eq(deliver_all(), 1);
    log_assert_ok(ik_store_sqlite_share(store, ADDRESS, OTHER_ID));
    say(OTHER_ID, 2, "and after");
    adopt();
    ck_assert_uint_ge(deliver_all(), 2);
    ck_assert_int_eq(count_withheld(), 0);
    check_same();
    log_assert_ok(
        ik_store_sqlite_share(store, ADDRESS, OTHER_ID)); /* again, as when it is resumed */
    adopt();
    ck_assert_uint_eq(deliver_all(), 0);
}
END_TEST

START_TEST(consent_delivers_everything)
{
    forget_consent();
    log_say(store, OTHER_ID, "before");
    log_assert_ok(ik_store_sqlite_share(store, ADDRESS, LOG_ID));
    log_say(store, LOG_ID, "shared");
    adopt();
    ck_assert_uint_eq(deliver_all(), 1);
    log_assert_ok(ik_store_sqlite_set_consent(store, SERVER, IK_STORE_SHARE_NEW));
    ck_assert_uint_eq(deliver_all(), 0);
    log_assert_ok(ik_store_sqlite_set_consent(store, SERVER, IK_STORE_SHARE_ALL));
    ck_assert_uint_ge(deliver_all(), 1);
    ck_assert_int_eq(count_withheld(), 0);
    check_same_session(LOG_ID);
    check_same_session(OTHER_ID);
}
END_TEST

/* A program that examined the log before a session was shared must not mark it as delivered. */
START_TEST(sharing_while_another_program_delivers)
{
    ik_store_batch_t batch;
    ik_store_delivered_t mark;
    forget_consent();
    log_say(store, OTHER_ID, "before");
    log_assert_ok(ik_store_sqlite_undelivered(ctx, store, SERVER, &batch, &mark));
    ck_assert_uint_eq(batch.event_count, 0);
    ck_assert_int_gt(mark.last, 0);
    log_assert_ok(ik_store_sqlite_share(store, ADDRESS, OTHER_ID));
    adopt();
    log_assert_ok(ik_store_sqlite_mark_delivered(store, SERVER, &mark));
    ck_assert_uint_eq(deliver_all(), 1);
    check_same();
}
END_TEST

/* The slower of two programs does not make the other one deliver again. */
START_TEST(two_programs_deliver)
{
    ik_store_batch_t batch;
    ik_store_delivered_t mark;
    log_say(store, LOG_ID, "one");
    log_assert_ok(ik_store_sqlite_undelivered(ctx, store, SERVER, &batch, &mark));
    say(LOG_ID, 2, "two");
    ck_assert_uint_eq(deliver_all(), 2);
    log_assert_ok(ik_store_sqlite_mark_delivered(store, SERVER, &mark));
    ck_assert_uint_eq(deliver_all(), 0);
}
END_TEST

START_TEST(much_that_stays_here_is_skipped)
{
    enum { EVENTS = 2500 };
    ik_store_event_t *events = ik_new_array(ctx, ik_store_event_t, EVENTS);
    forget_consent();
    log_assert_ok(log_begin(store, OTHER_ID));
    for (int64_t i = 0; i < EVENTS; i++) {
        events[i] = log_event(OTHER_ID, i + 1, "note", NULL, NULL);
    }
    log_assert_ok(log_write(store, events, EVENTS));
    log_assert_ok(ik_store_sqlite_share(store, ADDRESS, LOG_ID));
    log_say(store, LOG_ID, "shared");
    adopt();
    ck_assert_uint_eq(deliver_all(), 1);
}
END_TEST

START_TEST(a_renamed_session_stays_shared)
{
    static const char other[] = "00000000000000c1";
    forget_consent();
    log_assert_ok(ik_store_sqlite_share(store, ADDRESS, LOG_ID));
    log_say(store, LOG_ID, "hello");
    adopt();
    ck_assert_uint_eq(deliver_all(), 1);
    log_assert_ok(ik_store_sqlite_rename(store, LOG_ID, other));
    ck_assert_uint_eq(deliver_all(), 1);
    log_assert_same(log_dump(ctx, server, other), log_dump(ctx, store, other));
    ck_assert_int_eq(count_withheld(), 0);
}
END_TEST

START_TEST(a_server_that_is_met_first)
{
    bool first;
    log_assert_ok(ik_store_sqlite_adopt(store, ADDRESS, "another", &first));
    ck_assert(first);
    log_assert_ok(ik_store_sqlite_adopt(store, ADDRESS, "another", &first));
    ck_assert(!first);
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
    tcase_add_test(tests, only_what_is_shared_is_delivered);
    tcase_add_test(tests, an_older_session_is_shared_later);
    tcase_add_test(tests, consent_delivers_everything);
    tcase_add_test(tests, sharing_while_another_program_delivers);
    tcase_add_test(tests, two_programs_deliver);
    tcase_add_test(tests, much_that_stays_here_is_skipped);
    tcase_add_test(tests, a_renamed_session_stays_shared);
    tcase_add_test(tests, a_server_that_is_met_first);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}

/* Copying sessions from one store to another, of the same or the other kind. */
#include "store_backend.h"
#include "store_log.h"

static void *ctx;
static ik_store_t *from;
static ik_store_t *to;

static void set_up(ik_store_t *(*open_from)(void), ik_store_t *(*open_to)(void))
{
    backend_empty();
    ctx = talloc_new(NULL);
    from = open_from();
    to = open_to();
}

static ik_store_t *open_sqlite(void)
{
    return backend_open(ctx, BACKEND_SQLITE);
}

static ik_store_t *open_postgres(void)
{
    return backend_open(ctx, BACKEND_POSTGRES);
}

static ik_store_t *open_memory(void)
{
    return backend_open_file(ctx, ":memory:");
}

static void set_up_to_postgres(void)
{
    set_up(open_sqlite, open_postgres);
}

static void set_up_to_sqlite(void)
{
    set_up(open_postgres, open_sqlite);
}

static void set_up_to_memory(void)
{
    set_up(open_sqlite, open_memory);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static void check_equal(ik_store_t *a, ik_store_t *b, const char *id)
{
    log_assert_same(log_dump(ctx, a, id), log_dump(ctx, b, id));
}

/* --- what is copied ---------------------------------------------------------------------- */

static void say(ik_store_t *store, int64_t agent, int64_t seq, const char *words)
{
    ik_store_event_t event = log_event(LOG_ID, seq, "user", words, NULL);
    event.agent = agent;
    log_assert_ok(log_write_one(store, event));
}

static void fork_agent(int64_t number, int64_t parent, int64_t forked_at)
{
    ik_store_agent_t agent = {.session_id = LOG_ID,
                              .number = number,
                              .parent = parent,
                              .forked_at = forked_at,
                              .created_us = LOG_TIME + number};
    log_assert_ok(ik_store_write(from, &(ik_store_batch_t){.agents = &agent, .agent_count = 1}));
}

START_TEST(a_session_is_copied_with_everything)
{
    log_say(from, LOG_ID, "hello");
    log_assert_ok(log_write_one(
        from, log_event(LOG_ID, 2, "assistant", NULL,
                        "{ \"model\":\"p/m\",\"usage\":{\"in\":7},\"cost_usd\":0.5}\n")));
    fork_agent(2, 1, 1);
    say(from, 2, 2, "another way");
    fork_agent(3, 2, 2);
    log_say(from, "00000000000000b1", "not this one");
    log_assert_ok(ik_store_copy(from, LOG_ID, to, NULL));
    check_equal(from, to, LOG_ID);
    log_assert_code(ik_store_copy(from, "00000000000000b2", to, NULL), IK_ERR_NOT_FOUND);
    ck_assert_ptr_null(strstr(log_dump_all(ctx, to), "not this one"));
}
END_TEST

START_TEST(what_is_new_is_copied)
{
    log_say(from, LOG_ID, "hello");
    log_assert_ok(ik_store_copy(from, LOG_ID, to, NULL));
    log_assert_ok(ik_store_copy(from, LOG_ID, to, NULL));
    say(from, 1, 2, "more");
    fork_agent(2, 1, 2);
    log_assert_ok(ik_store_copy(from, LOG_ID, to, NULL));
    check_equal(from, to, LOG_ID);
    say(from, 2, 3, "a fork");
    say(from, 1, 3, "even more");
    log_assert_ok(ik_store_copy(from, LOG_ID, to, NULL));
    check_equal(from, to, LOG_ID);
    log_assert_ok(ik_store_copy(to, LOG_ID, from, NULL));
    check_equal(from, to, LOG_ID);
}
END_TEST

START_TEST(more_on_the_other_side_stays)
{
    log_say(from, LOG_ID, "hello");
    log_assert_ok(ik_store_copy(from, LOG_ID, to, NULL));
    say(to, 1, 2, "more");
    char *there = log_dump(ctx, to, LOG_ID);
    log_assert_ok(ik_store_copy(from, LOG_ID, to, NULL));
    ck_assert_str_eq(log_dump(ctx, to, LOG_ID), there);
    log_assert_ok(ik_store_copy(to, LOG_ID, from, NULL));
    check_equal(from, to, LOG_ID);
}
END_TEST

START_TEST(two_ways_are_a_conflict)
{
    log_say(from, LOG_ID, "hello");
    log_assert_ok(ik_store_copy(from, LOG_ID, to, NULL));
    say(from, 1, 2, "here");
    say(to, 1, 2, "there");
    say(to, 1, 3, "and on");
    char *here = log_dump(ctx, from, LOG_ID);
    char *there = log_dump(ctx, to, LOG_ID);
    log_assert_code(ik_store_copy(from, LOG_ID, to, NULL), IK_ERR_CONFLICT);
    log_assert_code(ik_store_copy(to, LOG_ID, from, NULL), IK_ERR_CONFLICT);
    ck_assert_str_eq(log_dump(ctx, from, LOG_ID), here);
    ck_assert_str_eq(log_dump(ctx, to, LOG_ID), there);
}
END_TEST

START_TEST(a_copy_under_another_id_is_a_session_of_its_own)
{
    static const char other[] = "00000000000000c1";
    log_say(from, LOG_ID, "hello");
    say(from, 1, 2, "more");
    fork_agent(2, 1, 1);
    say(from, 2, 2, "a fork");
    log_assert_ok(ik_store_copy(from, LOG_ID, to, other));
    log_assert_ok(ik_store_copy(from, LOG_ID, from, other));
    ck_assert_str_eq(log_dump(ctx, from, LOG_ID), log_dump(ctx, to, other));
    ck_assert_str_eq(log_dump(ctx, from, LOG_ID), log_dump(ctx, from, other));
    say(from, 1, 3, "only here");
    ck_assert_int_eq(log_find(ctx, from, other).messages, 3);
    ck_assert_int_eq(log_find(ctx, from, LOG_ID).messages, 4);
    log_assert_ok(ik_store_copy(from, LOG_ID, to, other));
    ck_assert_str_eq(log_dump(ctx, from, LOG_ID), log_dump(ctx, to, other));
}
END_TEST

/* More than one batch of a copy holds. */
START_TEST(a_long_session_is_copied)
{
    enum { COUNT = 2500, LONG = 100000 };
    char *words = ik_new_array(ctx, char, LONG + 1);
    ik_store_event_t *events = ik_new_array(ctx, ik_store_event_t, COUNT);
    memset(words, 'w', LONG);
    log_assert_ok(log_begin(from, LOG_ID));
    for (int64_t i = 0; i < COUNT; i++) {
        events[i] = log_event(LOG_ID, i + 1, "note", i % 100 == 0 ? words : "short", NULL);
    }
    log_assert_ok(log_write(from, events, COUNT));
    log_assert_ok(ik_store_copy(from, LOG_ID, to, NULL));
    ck_assert_int_eq(log_find(ctx, to, LOG_ID).messages, COUNT);
    check_equal(from, to, LOG_ID);
}
END_TEST

/* --- random histories -------------------------------------------------------------------- */

static uint64_t noise; /* a seed at first; each seed is one history */

static uint64_t draw(uint64_t below)
{
    noise ^= noise << 13;
    noise ^= noise >> 7;
    noise ^= noise << 17;
    return noise % below;
}

static const char *draw_of(const char *const *texts, size_t count)
{
    return texts[draw(count)];
}

#define DRAW_OF(texts_) draw_of(texts_, sizeof(texts_) / sizeof((texts_)[0]))

static const char *draw_kind(void)
{
    static const char *const kinds[] = {"system",    "user",        "user",       "assistant",
                                        "tool_call", "tool_result", "compaction", "note"};
    return DRAW_OF(kinds);
}

/* Pieces of text, few or very many of them. */
static const char *draw_text(void)
{
    static const char *const pieces[] = {
        "words ",    "and ", "\n", "\t",       "{\"a\":1}", "\\",           "'",
        "\"",        "\x01", "%",  "ik_store", "\xc3\xa4",  "\xe6\x97\xa5", "\xf0\x9f\x8d\xa3",
        "0123456789"};
    ik_buffer_t text;
    if (draw(6) == 0) {
        return NULL;
    }
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&text, "");
    for (uint64_t left = draw(draw(10) == 0 ? 3000 : 12); left > 0; left--) {
        ik_buffer_append_text(&text, DRAW_OF(pieces));
    }
    return ik_buffer_finish(&text);
}

/* Costs whose sums are exact in any order. */
static const char *draw_data(void)
{
    static const char *const data[] = {"{}",
                                       "",
                                       "{ \"b\":1,\"b\": 2 }\n",
                                       "{\"nul\":\"\\u0000\"}",
                                       "{\"lone\":\"\\ud800\"}",
                                       "not JSON",
                                       "[1e400]"};
    switch (draw(4)) {
    case 0:
        return NULL;
    case 1:
        return DRAW_OF(data);
    default:
        return ik_sprintf(
            ctx, "{\"model\":\"p/m%d\",\"usage\":{\"in\":%d,\"out\":%d},\"cost_usd\":%d.25}",
            (int)draw(5), (int)draw(1000), (int)draw(100), (int)draw(3));
    }
}

/* What the next event of a random history is going to be part of. */
enum { SESSIONS = 3, AGENTS = 5 };

typedef struct {
    char id[IK_STORE_ID_LEN + 1];
    int64_t last[AGENTS + 1]; /* of each agent's log */
    int64_t agents;
} growing_t;

typedef struct {
    growing_t sessions[SESSIONS];
    int64_t now;
    ik_store_session_t new_sessions[SESSIONS];
    ik_store_agent_t new_agents[SESSIONS * AGENTS];
    ik_store_event_t events[64];
    ik_store_batch_t batch;
} history_t;

static void add_agent(history_t *history, growing_t *session)
{
    int64_t parent = session->agents == 0 ? 0 : 1 + (int64_t)draw((uint64_t)session->agents);
    int64_t forked_at = parent == 0 ? 0 : (int64_t)draw((uint64_t)session->last[parent] + 1);
    history->new_agents[history->batch.agent_count++] =
        (ik_store_agent_t){.session_id = session->id,
                           .number = ++session->agents,
                           .parent = parent,
                           .forked_at = forked_at,
                           .created_us = history->now++};
    session->last[session->agents] = forked_at;
}

static void begin_session(history_t *history, growing_t *session)
{
    snprintf(session->id, sizeof(session->id), "%016llx", (unsigned long long)(noise | 1));
    history->new_sessions[history->batch.session_count++] =
        (ik_store_session_t){.id = session->id,
                             .cwd = draw(2) == 0 ? "/work" : "/else where/\xc3\xa4",
                             .host = "host",
                             .created_us = history->now++,
                             .model = "p/chosen"};
    add_agent(history, session);
}

static void add_event(history_t *history)
{
    growing_t *session = &history->sessions[draw(SESSIONS)];
    if (session->agents == 0) {
        begin_session(history, session);
    } else if (session->agents < AGENTS && draw(25) == 0) {
        add_agent(history, session);
    }
    int64_t agent = 1 + (int64_t)draw((uint64_t)session->agents);
    history->events[history->batch.event_count++] =
        (ik_store_event_t){.session_id = session->id,
                           .agent = agent,
                           .seq = ++session->last[agent],
                           .created_us = history->now++,
                           .kind = draw_kind(),
                           .content = draw_text(),
                           .data_json = draw_data()};
}

/* Writes a random history in batches of random sizes; some are written twice. */
static history_t *write_history(ik_store_t *store)
{
    history_t *history = ik_new(ctx, history_t);
    history->now = LOG_TIME;
    for (int batches = 0; batches < 30; batches++) {
        history->batch =
            (ik_store_batch_t){.sessions = history->new_sessions,
                               .agents = history->new_agents,
                               .events = history->events,
                               .safety = draw(2) == 0 ? IK_STORE_FULL : IK_STORE_NORMAL};
        for (uint64_t left = 1 + draw(draw(2) == 0 ? 1 : 20); left > 0; left--) {
            add_event(history);
        }
        for (uint64_t times = 1 + (draw(5) == 0); times > 0; times--) {
            log_assert_ok(ik_store_write(store, &history->batch));
        }
    }
    return history;
}

/* Through all three stores, as they are, and what each agent knows. */
static void check_history(const history_t *history, ik_store_t *third)
{
    for (size_t i = 0; i < SESSIONS; i++) {
        const growing_t *session = &history->sessions[i];
        if (session->agents == 0) {
            continue;
        }
        log_assert_ok(ik_store_copy(from, session->id, to, NULL));
        log_assert_ok(ik_store_copy(to, session->id, third, NULL));
        check_equal(from, to, session->id);
        check_equal(from, third, session->id);
        for (int64_t agent = 1; agent <= session->agents; agent++) {
            log_assert_same(log_dump_known(ctx, from, session->id, agent),
                            log_dump_known(ctx, to, session->id, agent));
        }
    }
    log_assert_same(log_dump_all(ctx, from), log_dump_all(ctx, to));
}

START_TEST(random_histories_come_out_as_they_went_in)
{
    noise = UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(_i + 1);
    check_history(write_history(from), open_memory());
}
END_TEST

/* --- all of them in each direction ------------------------------------------------------- */

static void add_direction(Suite *suite, const char *name, void (*begin)(void))
{
    TCase *tests = tcase_create(name);
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, begin, tear_down);
    tcase_add_test(tests, a_session_is_copied_with_everything);
    tcase_add_test(tests, what_is_new_is_copied);
    tcase_add_test(tests, more_on_the_other_side_stays);
    tcase_add_test(tests, two_ways_are_a_conflict);
    tcase_add_test(tests, a_copy_under_another_id_is_a_session_of_its_own);
    tcase_add_test(tests, a_long_session_is_copied);
    tcase_add_loop_test(tests, random_histories_come_out_as_they_went_in, 0, 10);
    suite_add_tcase(suite, tests);
}

int main(void)
{
    Suite *suite = suite_create("store_copy");
    add_direction(suite, "sqlite to postgres", set_up_to_postgres);
    add_direction(suite, "postgres to sqlite", set_up_to_sqlite);
    add_direction(suite, "sqlite to sqlite", set_up_to_memory);
    return scratch_run(suite);
}

/* Tests of asking the history without waiting: the local file alone, a shared history, and one that
 * does not answer. */
#include <arpa/inet.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "store/history.h"
#include "store/session.h"
#include "store_backend.h"
#include "store_log.h"

#define OTHER_ID "00000000000000b2"

static void *ctx;
static ik_loop_t *loop;
static ik_history_t *history;

/* The answer as plain text, because the answer itself is freed when the callback returns. */
typedef struct {
    int count;
    bool done;
    res_t result;
    size_t found;
    char text[256];
    ik_holder_t other;
    void *owner; /* freed from inside the callback; or NULL */
} heard_t;

static void on_notice(void *data, const char *line)
{
    (void)data;
    (void)line;
}

static ik_history_t *open_history(const char *db)
{
    ik_history_options_t options = {
        .db = db, .file = backend_file(), .loop = loop, .on_notice = on_notice};
    return ik_history_create(ctx, &options);
}

static void begin(void)
{
    ctx = talloc_new(NULL);
    ck_assert_int_eq(ik_loop_create(ctx, &loop).code, IK_ERR_NONE);
}

static void set_up_local(void)
{
    scratch_empty();
    begin();
    history = open_history(backend_file());
}

/* Retries, because a busy machine may time out, and nothing can be removed without an answer. */
static void await_connection(void)
{
    while (ik_history_remove(history, LOG_ID).code == IK_ERR_GONE) {
        usleep(100000);
    }
}

static void set_up_shared(void)
{
    backend_empty();
    begin();
    history = open_history(backend_postgres_url());
    await_connection();
}

static void set_up_without(void)
{
    scratch_empty();
    begin();
}

static void tear_down(void)
{
    talloc_free(history);
    history = NULL;
    talloc_free(ctx);
}

/* --- asking and hearing ------------------------------------------------------------------ */

static void hear(heard_t *heard, const res_t *result)
{
    heard->count++;
    heard->done = true;
    heard->result = *result;
    TALLOC_FREE(heard->owner);
}

static void on_list(void *data, const res_t *result, const ik_store_list_t *list)
{
    heard_t *heard = data;
    hear(heard, result);
    ck_assert_int_eq(list == NULL, is_err(result));
    if (list != NULL) {
        heard->found = list->count;
        snprintf(heard->text, sizeof(heard->text), "%s",
                 list->count == 0 ? "" : list->sessions[0].id);
    }
}

static void on_find(void *data, const res_t *result, const ik_store_session_t *session)
{
    heard_t *heard = data;
    hear(heard, result);
    ck_assert_int_eq(session == NULL, is_err(result));
    if (session != NULL) {
        snprintf(heard->text, sizeof(heard->text), "%s %s", session->id, session->title);
    }
}

static void on_search(void *data, const res_t *result, const ik_store_hits_t *hits)
{
    heard_t *heard = data;
    hear(heard, result);
    ck_assert_int_eq(hits == NULL, is_err(result));
    if (hits != NULL) {
        heard->found = hits->count;
        snprintf(heard->text, sizeof(heard->text), "%s",
                 hits->count == 0 ? "" : hits->hits[0].session_id);
    }
}

static void on_claim(void *data, const res_t *result, const ik_holder_t *other)
{
    heard_t *heard = data;
    hear(heard, result);
    heard->other = *other;
}

static void await(heard_t *heard)
{
    ck_assert_int_eq(heard->count, 0); /* never from inside the call */
    ck_assert(ik_loop_run_until(loop, &heard->done));
    ck_assert_int_eq(heard->count, 1);
}

static ik_history_question_t *ask_list(heard_t *heard)
{
    return ik_history_list_start(ctx, history, &(ik_store_filter_t){.limit = 10}, on_list, heard);
}

static ik_history_question_t *ask_claim(const char *id, heard_t *heard)
{
    return ik_history_claim_start(ctx, history, id, on_claim, heard);
}

static heard_t hear_list(void)
{
    heard_t heard = {0};
    ask_list(&heard);
    await(&heard);
    return heard;
}

static heard_t hear_find(const char *prefix)
{
    heard_t heard = {0};
    ik_history_find_start(ctx, history, prefix, on_find, &heard);
    await(&heard);
    return heard;
}

static heard_t hear_search(const char *text)
{
    heard_t heard = {0};
    ik_store_search_t search = {.text = text, .limit = 10};
    ik_history_search_start(ctx, history, &search, on_search, &heard);
    await(&heard);
    return heard;
}

static heard_t hear_claim(const char *id)
{
    heard_t heard = {0};
    ask_claim(id, &heard);
    await(&heard);
    return heard;
}

/* --- what there is ----------------------------------------------------------------------- */

static void say_in(backend_t backend, const char *id, const char *words)
{
    ik_store_t *store = backend_open(ctx, backend);
    log_say(store, id, words);
    talloc_free(store);
}

/* Another running holder: on another machine, and in another process of this machine. */
static ik_holder_t somebody_elsewhere(void)
{
    return (ik_holder_t){.pid = 7, .host = "elsewhere"};
}

static ik_holder_t somebody_here(void)
{
    ik_holder_t holder = ik_holder_self();
    holder.pid = getppid();
    holder.started = 0;
    return holder;
}

/* Waits until the worker has done everything. */
static void await_worker(void)
{
    ik_store_list_t *list;
    log_assert_ok(ik_history_list(ctx, history, &(ik_store_filter_t){.limit = 1}, &list));
}

static void check_open(const char *id)
{
    ik_session_t *session;
    log_assert_ok(ik_session_open(history, history, id, &session));
    ck_assert_str_eq(ik_session_id(session), id);
    talloc_free(session);
}

/* --- the local file alone ---------------------------------------------------------------- */

START_TEST(the_file_answers_from_the_loop)
{
    say_in(BACKEND_SQLITE, LOG_ID, "needle in the hay");
    say_in(BACKEND_SQLITE, OTHER_ID, "something else");
    heard_t list = hear_list();
    ck_assert_uint_eq(list.found, 2);
    heard_t found = hear_find("00000000000000a");
    ck_assert_str_eq(found.text, LOG_ID " needle in the hay");
    heard_t hits = hear_search("needle");
    ck_assert_uint_eq(hits.found, 1);
    ck_assert_str_eq(hits.text, LOG_ID);
    bool never = false;
    ck_assert(!ik_loop_run_until(loop, &never)); /* and that was all */
    ck_assert_int_eq(list.count + found.count + hits.count, 3);
}
END_TEST

START_TEST(failures_are_answers)
{
    ck_assert_int_eq(hear_find("f").result.code, IK_ERR_NOT_FOUND);
    ck_assert_int_eq(hear_find("xyz").result.code, IK_ERR_INVALID);
    ck_assert_int_eq(hear_claim(LOG_ID).result.code, IK_ERR_NOT_FOUND);
    tear_down();
    begin();
    history = open_history("/proc/nowhere/history.db");
    heard_t heard = hear_list();
    ck_assert(is_err(&heard.result));
}
END_TEST

START_TEST(a_claimed_session_can_be_opened)
{
    say_in(BACKEND_SQLITE, LOG_ID, "hello");
    heard_t heard = hear_claim(LOG_ID);
    log_assert_ok(heard.result);
    check_open(LOG_ID);
    check_open(LOG_ID); /* closing it released it */
}
END_TEST

START_TEST(a_session_in_use_is_told_with_its_holder)
{
    ik_holder_t holder = somebody_here();
    ik_holder_t other;
    ik_store_t *store = backend_open(ctx, BACKEND_SQLITE);
    log_say(store, LOG_ID, "hello");
    log_assert_ok(ik_store_claim(store, LOG_ID, &holder, &other));
    heard_t heard = hear_claim(LOG_ID);
    ck_assert_int_eq(heard.result.code, IK_ERR_CONFLICT);
    ck_assert_int_eq(heard.other.pid, getppid());
    log_assert_ok(ik_store_release(store, LOG_ID, &holder));
    log_assert_ok(hear_claim(LOG_ID).result);
}
END_TEST

START_TEST(a_freed_question_is_silent)
{
    heard_t heard = {0};
    bool never = false;
    talloc_free(ask_list(&heard));
    talloc_free(ask_claim(LOG_ID, &heard));
    ck_assert(!ik_loop_run_until(loop, &never));
    ck_assert_int_eq(heard.count, 0);
}
END_TEST

START_TEST(the_owner_may_go_in_the_callback)
{
    say_in(BACKEND_SQLITE, LOG_ID, "hello");
    heard_t heard = {.owner = talloc_new(ctx)};
    ik_history_list_start(heard.owner, history, &(ik_store_filter_t){0}, on_list, &heard);
    await(&heard);
    ck_assert_str_eq(heard.text, LOG_ID);
}
END_TEST

START_TEST(the_history_may_go_first)
{
    heard_t heard = {0};
    bool never = false;
    ik_history_question_t *list = ask_list(&heard);
    ask_claim(LOG_ID, &heard);
    TALLOC_FREE(history);
    talloc_free(list);
    ck_assert(!ik_loop_run_until(loop, &never));
    ck_assert_int_eq(heard.count, 0);
}
END_TEST

START_TEST(the_history_may_go_in_the_callback)
{
    heard_t second = {0};
    heard_t first = {.owner = history};
    bool never = false;
    ask_list(&first);
    ask_list(&second);
    await(&first);
    ck_assert(!ik_loop_run_until(loop, &never));
    ck_assert_int_eq(second.count, 0);
    history = NULL;
}
END_TEST

/* --- a shared history -------------------------------------------------------------------- */

START_TEST(the_server_answers)
{
    say_in(BACKEND_POSTGRES, LOG_ID, "needle on the server");
    heard_t list = hear_list();
    ck_assert_uint_eq(list.found, 1);
    ck_assert_str_eq(hear_find("00000000000000a").text, LOG_ID " needle on the server");
    ck_assert_uint_eq(hear_search("needle").found, 1);
    ck_assert_int_eq(hear_find("f").result.code, IK_ERR_NOT_FOUND);
}
END_TEST

START_TEST(several_at_once)
{
    heard_t heard[4] = {0};
    say_in(BACKEND_POSTGRES, LOG_ID, "hello");
    for (int i = 0; i < 4; i++) {
        ask_list(&heard[i]);
    }
    ck_assert(ik_loop_run_until(loop, &heard[3].done));
    for (int i = 0; i < 4; i++) {
        ck_assert(ik_loop_run_until(loop, &heard[i].done));
        ck_assert_int_eq(heard[i].count, 1);
        ck_assert_uint_eq(heard[i].found, 1);
    }
}
END_TEST

/* No callback runs while another call waits. */
START_TEST(a_waiting_question_answers_no_other)
{
    heard_t heard = {0};
    ask_list(&heard);
    await_worker();
    await(&heard);
}
END_TEST

/* While the tables are locked, the server does not answer. */
static void with_locked_tables(void (*act)(void))
{
    void *(*connect)(const char *) = backend_symbol("PQconnectdb");
    void *(*execute)(void *, const char *) = backend_symbol("PQexec");
    void (*clear)(void *) = backend_symbol("PQclear");
    void (*finish)(void *) = backend_symbol("PQfinish");
    void *connection = connect(backend_postgres_url());
    clear(execute(connection, "BEGIN"));
    clear(execute(connection, "LOCK TABLE ikigai.sessions, ikigai.messages, ikigai.holders"));
    act();
    finish(connection);
}

static void check_open_at_once(void)
{
    int64_t began = ik_clock_now_ms();
    ik_session_t *session;
    log_assert_ok(ik_session_open(history, history, LOG_ID, &session));
    ck_assert_int_lt(ik_clock_now_ms() - began,
                     2000); /* a question without an answer takes three seconds */
}

START_TEST(a_claimed_session_is_opened_without_the_server)
{
    say_in(BACKEND_POSTGRES, LOG_ID, "hello");
    log_assert_ok(hear_claim(LOG_ID).result);
    ck_assert_int_eq(log_find(ctx, backend_open(ctx, BACKEND_SQLITE), LOG_ID).messages, 1);
    with_locked_tables(check_open_at_once);
}
END_TEST

static bool server_lets_claim(const char *id, const ik_holder_t *holder)
{
    ik_holder_t other;
    ik_store_t *server = backend_open(ctx, BACKEND_POSTGRES);
    res_t claimed = ik_store_claim(server, id, holder, &other);
    talloc_free(server);
    return is_ok(&claimed);
}

START_TEST(a_claim_holds_on_the_server_until_it_is_released)
{
    ik_holder_t holder = somebody_elsewhere();
    say_in(BACKEND_POSTGRES, LOG_ID, "hello");
    log_assert_ok(hear_claim(LOG_ID).result);
    ck_assert(!server_lets_claim(LOG_ID, &holder));
    check_open(LOG_ID);
    await_worker();
    ck_assert(server_lets_claim(LOG_ID, &holder));
}
END_TEST

START_TEST(what_was_released_is_asked_for_again)
{
    ik_holder_t holder = somebody_elsewhere();
    ik_holder_t other;
    ik_session_t *session;
    ik_store_t *server = backend_open(ctx, BACKEND_POSTGRES);
    log_say(server, LOG_ID, "hello");
    log_assert_ok(hear_claim(LOG_ID).result);
    check_open(LOG_ID);
    await_worker();
    log_assert_ok(ik_store_claim(server, LOG_ID, &holder, &other));
    log_assert_code(ik_session_open(history, history, LOG_ID, &session), IK_ERR_CONFLICT);
}
END_TEST

START_TEST(who_holds_it_on_the_server_is_told)
{
    ik_holder_t holder = somebody_elsewhere();
    ik_holder_t other;
    ik_store_t *server = backend_open(ctx, BACKEND_POSTGRES);
    log_say(server, LOG_ID, "hello");
    log_assert_ok(ik_store_claim(server, LOG_ID, &holder, &other));
    heard_t heard = hear_claim(LOG_ID);
    ck_assert_int_eq(heard.result.code, IK_ERR_CONFLICT);
    ck_assert_str_eq(heard.other.host, "elsewhere");
}
END_TEST

START_TEST(what_cannot_be_claimed_here_is_not_kept_there)
{
    ik_holder_t here = somebody_here();
    ik_holder_t elsewhere = somebody_elsewhere();
    ik_holder_t other;
    ik_store_t *local = backend_open(ctx, BACKEND_SQLITE);
    log_say(local, LOG_ID, "hello");
    log_assert_ok(ik_store_claim(local, LOG_ID, &here, &other));
    ck_assert_int_eq(hear_claim(LOG_ID).result.code, IK_ERR_CONFLICT);
    await_worker();
    ck_assert(server_lets_claim(LOG_ID, &elsewhere));
}
END_TEST

/* Freed at once (0), and after the worker has claimed the session (1). */
START_TEST(a_freed_claim_leaves_none)
{
    ik_holder_t elsewhere = somebody_elsewhere();
    heard_t heard = {0};
    say_in(BACKEND_POSTGRES, LOG_ID, "hello");
    ik_history_question_t *question = ask_claim(LOG_ID, &heard);
    if (_i == 1) {
        await_worker();
        ck_assert(!server_lets_claim(LOG_ID, &elsewhere));
    }
    talloc_free(question);
    await_worker();
    ck_assert(server_lets_claim(LOG_ID, &elsewhere));
    ck_assert_int_eq(heard.count, 0);
}
END_TEST

/* A cancelled claim of the open session does not release it. */
START_TEST(a_freed_claim_leaves_the_one_there_was)
{
    ik_holder_t elsewhere = somebody_elsewhere();
    heard_t heard = {0};
    ik_session_t *session;
    say_in(BACKEND_POSTGRES, LOG_ID, "hello");
    log_assert_ok(ik_session_open(history, history, LOG_ID, &session));
    talloc_free(ask_claim(LOG_ID, &heard));
    await_worker();
    ck_assert(!server_lets_claim(LOG_ID, &elsewhere));
}
END_TEST

START_TEST(the_shared_history_may_go_first)
{
    heard_t heard = {0};
    say_in(BACKEND_POSTGRES, LOG_ID, "hello");
    ask_claim(LOG_ID, &heard);
    ask_list(&heard);
    if (_i == 1) {
        await_worker();
    }
    TALLOC_FREE(history);
    bool never = false;
    ck_assert(!ik_loop_run_until(loop, &never));
    ck_assert_int_eq(heard.count, 0);
}
END_TEST

/* --- one that does not answer ------------------------------------------------------------ */

static int listen_on(struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof(*address);
    *address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ck_assert_int_eq(bind(fd, (struct sockaddr *)address, len), 0);
    ck_assert_int_eq(listen(fd, 8), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)address, &len), 0);
    return fd;
}

static void open_unanswered(const struct sockaddr_in *address)
{
    say_in(BACKEND_SQLITE, LOG_ID, "needle in the hay");
    history = open_history(
        ik_sprintf(ctx, "postgresql://me@127.0.0.1:%d/history", ntohs(address->sin_port)));
}

static void check_answers_of_the_file(void)
{
    ck_assert_uint_eq(hear_list().found, 1);
    ck_assert_str_eq(hear_find("00000000000000a").text, LOG_ID " needle in the hay");
    ck_assert_uint_eq(hear_search("needle").found, 1);
    log_assert_ok(hear_claim(LOG_ID).result);
    check_open(LOG_ID);
}

START_TEST(where_nobody_is_the_file_answers)
{
    struct sockaddr_in address;
    close(listen_on(&address));
    open_unanswered(&address);
    check_answers_of_the_file();
}
END_TEST

typedef struct {
    ik_timer_t *timer;
    int count;
} ticks_t;

static void on_tick(void *data)
{
    ticks_t *ticks = data;
    ticks->count++;
    ik_timer_start(ticks->timer, 50);
}

/* The kernel accepts connections, but no program answers. The loop keeps running. */
START_TEST(when_patience_ends_the_file_answers)
{
    struct sockaddr_in address;
    ticks_t ticks = {0};
    int fd = listen_on(&address);
    open_unanswered(&address);
    ticks.timer = ik_timer_create(ctx, loop, on_tick, &ticks);
    on_tick(&ticks);
    ck_assert_uint_eq(hear_list().found, 1);
    ck_assert_int_ge(ticks.count, 10);
    talloc_free(ticks.timer);
    check_answers_of_the_file();
    close(fd);
}
END_TEST

static void check_finish(void)
{
    say_in(BACKEND_SQLITE, OTHER_ID, "undelivered");
    ik_history_wrote(history);
    int64_t began = ik_clock_now_ms();
    ik_history_finish(history, 100);
    ck_assert_int_lt(ik_clock_now_ms() - began, 3000);
}

/* Delivery waits for the tables, at most as long as the caller allows. */
START_TEST(the_end_is_as_patient_as_the_caller)
{
    say_in(BACKEND_POSTGRES, LOG_ID, "hello");
    await_worker();
    with_locked_tables(check_finish);
    ik_history_finish(history, IK_HISTORY_FINISH_MS);
    ck_assert_uint_eq(hear_list().found, 2);
}
END_TEST

static void add_local(Suite *suite)
{
    TCase *tests = tcase_create("local");
    tcase_add_checked_fixture(tests, set_up_local, tear_down);
    tcase_add_test(tests, the_file_answers_from_the_loop);
    tcase_add_test(tests, failures_are_answers);
    tcase_add_test(tests, a_claimed_session_can_be_opened);
    tcase_add_test(tests, a_session_in_use_is_told_with_its_holder);
    tcase_add_test(tests, a_freed_question_is_silent);
    tcase_add_test(tests, the_owner_may_go_in_the_callback);
    tcase_add_test(tests, the_history_may_go_first);
    tcase_add_test(tests, the_history_may_go_in_the_callback);
    suite_add_tcase(suite, tests);
}

static void add_shared(Suite *suite)
{
    TCase *tests = tcase_create("shared");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, set_up_shared, tear_down);
    tcase_add_test(tests, the_server_answers);
    tcase_add_test(tests, several_at_once);
    tcase_add_test(tests, a_waiting_question_answers_no_other);
    tcase_add_test(tests, a_claimed_session_is_opened_without_the_server);
    tcase_add_test(tests, a_claim_holds_on_the_server_until_it_is_released);
    tcase_add_test(tests, what_was_released_is_asked_for_again);
    tcase_add_test(tests, who_holds_it_on_the_server_is_told);
    tcase_add_test(tests, what_cannot_be_claimed_here_is_not_kept_there);
    tcase_add_loop_test(tests, a_freed_claim_leaves_none, 0, 2);
    tcase_add_test(tests, a_freed_claim_leaves_the_one_there_was);
    tcase_add_loop_test(tests, the_shared_history_may_go_first, 0, 2);
    tcase_add_test(tests, the_end_is_as_patient_as_the_caller);
    suite_add_tcase(suite, tests);
}

static void add_unanswered(Suite *suite)
{
    TCase *tests = tcase_create("unanswered");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, set_up_without, tear_down);
    tcase_add_test(tests, where_nobody_is_the_file_answers);
    tcase_add_test(tests, when_patience_ends_the_file_answers);
    suite_add_tcase(suite, tests);
}

int main(void)
{
    Suite *suite = suite_create("history");
    add_local(suite);
    add_shared(suite);
    add_unanswered(suite);
    return scratch_run(suite);
}

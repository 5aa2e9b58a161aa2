/* Tests of asking the worker without waiting: who owns the question when, and what is cancelled.
 * The questions block until the test writes a byte, so that the worker is in a known state. */
#include <stdatomic.h>

#include "store/delivery.h"
#include "store_backend.h"
#include "store_log.h"

enum { LONG_MS = 60000 };

static void *ctx;
static ik_loop_t *loop;
static ik_delivery_t *delivery;
static atomic_int freed; /* questions, freed by either thread */

typedef struct {
    int wait_fd; /* the worker reads a byte from it; -1: it does not block */
    int begun_fd;
    atomic_bool asked;
} question_t;

/* The answer as the callback got it. */
typedef struct {
    int count;
    bool done;
    res_t result;
    void *question;
} answer_t;

static void on_notice(void *data, const char *line)
{
    (void)data;
    (void)line;
}

static void on_renamed(void *data, const char *from, const char *to)
{
    (void)data;
    (void)from;
    (void)to;
}

static res_t answer_nothing(void *question, ik_store_t *local, ik_store_t *shared)
{
    (void)question;
    (void)local;
    (void)shared;
    return OK;
}

/* Retries, because a busy machine may time out. */
static void await_connection(void)
{
    res_t reached;
    do {
        void *question = talloc_new(NULL);
        reached = ik_delivery_ask(delivery, answer_nothing, &question, LONG_MS);
        talloc_free(question);
    } while (reached.code == IK_ERR_GONE && usleep(100000) == 0);
}

static void set_up(void)
{
    backend_empty();
    atomic_store(&freed, 0);
    ctx = talloc_new(NULL);
    ck_assert_int_eq(ik_loop_create(ctx, &loop).code, IK_ERR_NONE);
    delivery = ik_delivery_create(ctx, &(ik_delivery_options_t){.url = backend_postgres_url(),
                                                                .address = "here",
                                                                .file = backend_file(),
                                                                .loop = loop,
                                                                .on_notice = on_notice,
                                                                .on_renamed = on_renamed});
    await_connection();
}

static void tear_down(void)
{
    talloc_free(delivery);
    talloc_free(ctx);
}

static int count_freed(question_t *question)
{
    (void)question;
    atomic_fetch_add(&freed, 1);
    return 0;
}

static question_t *create_question(void)
{
    question_t *question = ik_new(NULL, question_t);
    question->wait_fd = -1;
    question->begun_fd = -1;
    talloc_set_destructor(question, count_freed);
    return question;
}

static res_t answer_question(void *data, ik_store_t *local, ik_store_t *shared)
{
    question_t *question = data;
    char byte = 'b';
    ck_assert_ptr_nonnull(local);
    ck_assert_ptr_nonnull(shared);
    if (question->begun_fd >= 0) {
        ck_assert_int_eq(write(question->begun_fd, &byte, 1), 1);
    }
    if (question->wait_fd >= 0) {
        ck_assert_int_eq(read(question->wait_fd, &byte, 1), 1);
    }
    atomic_store(&question->asked, true);
    return ERR(INVALID, "an answer");
}

static void on_answer(void *data, const res_t *result, void *question)
{
    answer_t *answer = data;
    answer->count++;
    answer->done = true;
    answer->result = *result;
    answer->question = question;
}

static ik_delivery_inquiry_t *start(question_t *question, int patience_ms, answer_t *answer)
{
    return ik_delivery_ask_start(ctx, delivery, answer_question, question, patience_ms, on_answer,
                                 answer);
}

/* A question in which the worker blocks until the test releases it. */
typedef struct {
    int wait[2];
    int begun[2];
} gate_t;

static question_t *create_gated(gate_t *gate)
{
    question_t *question = create_question();
    ck_assert_int_eq(pipe(gate->wait), 0);
    ck_assert_int_eq(pipe(gate->begun), 0);
    question->wait_fd = gate->wait[0];
    question->begun_fd = gate->begun[1];
    return question;
}

static void await_gate(const gate_t *gate)
{
    char byte;
    ck_assert_int_eq(read(gate->begun[0], &byte, 1), 1);
}

static void open_gate(const gate_t *gate)
{
    ck_assert_int_eq(write(gate->wait[1], "g", 1), 1);
}

static void close_gate(const gate_t *gate)
{
    for (int i = 0; i < 2; i++) {
        close(gate->wait[i]);
        close(gate->begun[i]);
    }
}

/* Waits until the worker has answered everything it was asked before. */
static void await_worker(void)
{
    void *question = create_question();
    ck_assert_int_eq(ik_delivery_ask(delivery, answer_question, &question, LONG_MS).code,
                     IK_ERR_INVALID);
    talloc_free(question);
}

START_TEST(the_answer_comes_from_the_loop)
{
    answer_t answer = {0};
    question_t *question = create_question();
    start(question, LONG_MS, &answer);
    await_worker(); /* it is answered by now, but no callback runs inside another call */
    ck_assert_int_eq(answer.count, 0);
    ck_assert(ik_loop_run_until(loop, &answer.done));
    ck_assert_int_eq(answer.count, 1);
    ck_assert_str_eq(answer.result.message, "an answer");
    ck_assert_ptr_eq(answer.question, question);
    ck_assert(atomic_load(&question->asked));
    talloc_free(question);
}
END_TEST

START_TEST(several_are_answered_each_with_its_own)
{
    answer_t answers[3] = {0};
    question_t *questions[3];
    for (int i = 0; i < 3; i++) {
        questions[i] = create_question();
        start(questions[i], LONG_MS, &answers[i]);
    }
    for (int i = 2; i >= 0; i--) {
        ck_assert(ik_loop_run_until(loop, &answers[i].done));
    }
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(answers[i].count, 1);
        ck_assert_ptr_eq(answers[i].question, questions[i]);
        talloc_free(questions[i]);
    }
}
END_TEST

START_TEST(a_worker_that_is_at_it_keeps_the_question)
{
    answer_t answer = {0};
    gate_t gate;
    start(create_gated(&gate), 50, &answer);
    await_gate(&gate);
    ck_assert(ik_loop_run_until(loop, &answer.done));
    ck_assert_int_eq(answer.result.code, IK_ERR_GONE);
    ck_assert_ptr_null(answer.question);
    ck_assert_int_eq(atomic_load(&freed), 0);
    open_gate(&gate);
    await_worker();
    ck_assert_int_eq(atomic_load(&freed), 2);
    ck_assert_int_eq(answer.count, 1);
    close_gate(&gate);
}
END_TEST

START_TEST(what_was_not_begun_in_time_is_not_done)
{
    answer_t first = {0};
    answer_t second = {0};
    gate_t gate;
    question_t *gated = create_gated(&gate);
    start(gated, LONG_MS, &first);
    await_gate(&gate);
    question_t *late = create_question();
    start(late, 50, &second);
    ck_assert(ik_loop_run_until(loop, &second.done));
    ck_assert_int_eq(second.result.code, IK_ERR_GONE);
    ck_assert_ptr_eq(second.question, late);
    void *later = create_question();
    ck_assert_int_eq(ik_delivery_ask(delivery, answer_question, &later, 50).code, IK_ERR_GONE);
    open_gate(&gate);
    ck_assert(ik_loop_run_until(loop, &first.done));
    await_worker();
    ck_assert(!atomic_load(&late->asked));
    ck_assert(!atomic_load(&((question_t *)later)->asked));
    talloc_free(late);
    talloc_free(later);
    talloc_free(gated);
    close_gate(&gate);
}
END_TEST

/* In each state: queued, running, and answered but not reported. */
START_TEST(a_freed_one_is_silent)
{
    answer_t first = {0};
    answer_t second = {0};
    answer_t third = {0};
    gate_t gate;
    ik_delivery_inquiry_t *asked = start(create_gated(&gate), LONG_MS, &first);
    ik_delivery_inquiry_t *in_line = start(create_question(), LONG_MS, &second);
    await_gate(&gate);
    talloc_free(in_line);
    ck_assert_int_eq(atomic_load(&freed), 1);
    talloc_free(asked);
    open_gate(&gate);
    await_worker();
    ck_assert_int_eq(atomic_load(&freed), 3);
    ik_delivery_inquiry_t *answered = start(create_question(), LONG_MS, &third);
    await_worker();
    talloc_free(answered);
    ck_assert_int_eq(atomic_load(&freed), 5);
    answer_t last = {0};
    start(create_question(), LONG_MS, &last);
    ck_assert(ik_loop_run_until(loop, &last.done));
    talloc_free(last.question);
    ck_assert_int_eq(first.count + second.count + third.count, 0);
    close_gate(&gate);
}
END_TEST

static void on_answer_free_owner(void *data, const res_t *result, void *question)
{
    answer_t *answer = data;
    TALLOC_FREE(answer->question); /* the owner of the inquiry */
    on_answer(data, result, question);
}

START_TEST(its_owner_may_go_in_the_callback)
{
    answer_t answer = {.question = talloc_new(ctx)};
    ik_delivery_ask_start(answer.question, delivery, answer_question, create_question(), LONG_MS,
                          on_answer_free_owner, &answer);
    ck_assert(ik_loop_run_until(loop, &answer.done));
    ck_assert_int_eq(answer.count, 1);
    talloc_free(answer.question);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("delivery");
    TCase *tests = tcase_create("asking");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, the_answer_comes_from_the_loop);
    tcase_add_test(tests, several_are_answered_each_with_its_own);
    tcase_add_test(tests, a_worker_that_is_at_it_keeps_the_question);
    tcase_add_test(tests, what_was_not_begun_in_time_is_not_done);
    tcase_add_test(tests, a_freed_one_is_silent);
    tcase_add_test(tests, its_owner_may_go_in_the_callback);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}

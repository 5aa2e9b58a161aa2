/* ik_loop_run_until returns when it should, whatever else is on the loop. */
#include <unistd.h>

#include "base/alloc.h"
#include "io/loop.h"
#include "suite.h"

static void *ctx;
static ik_loop_t *loop;

static void set_up(void)
{
    ctx = talloc_new(NULL);
    ck_assert_int_eq(ik_loop_create(ctx, &loop).code, IK_ERR_NONE);
}

static void tear_down(void)
{
    talloc_free(loop);
    talloc_free(ctx);
}

static void on_readable(void *data)
{
    (void)data;
    ck_abort_msg("no data was written");
}

static void on_timer(void *data)
{
    *(bool *)data = true;
}

/* Watches a pipe that is never written to. */
static ik_watch_t *watch_silence(int *other_end)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    *other_end = ends[1];
    return ik_watch_create(ctx, loop, ends[0], on_readable, NULL);
}

START_TEST(a_timer_that_does_it_ends_the_waiting)
{
    int other_end;
    bool done = false;
    ik_watch_t *watch = watch_silence(&other_end);
    ik_timer_t *timer = ik_timer_create(ctx, loop, on_timer, &done);
    ik_timer_start(timer, _i);
    ck_assert(ik_loop_run_until(loop, &done));
    talloc_free(timer);
    talloc_free(watch);
    close(other_end);
}
END_TEST

START_TEST(what_is_done_already_is_not_waited_for)
{
    int other_end;
    bool done = true;
    ik_watch_t *watch = watch_silence(&other_end);
    ck_assert(ik_loop_run_until(loop, &done));
    talloc_free(watch);
    close(other_end);
}
END_TEST

START_TEST(with_nothing_left_to_wait_for_it_returns)
{
    bool done = false;
    ck_assert(!ik_loop_run_until(loop, &done));
}
END_TEST

typedef struct {
    bool inner;
    bool outer;
    ik_timer_t *timer;
} nested_t;

static void on_outer_timer(void *data)
{
    nested_t *nested = data;
    ik_timer_start(nested->timer, 1);
    ck_assert(ik_loop_run_until(loop, &nested->inner));
    nested->outer = true;
}

START_TEST(waiting_inside_waiting_ends_one_after_the_other)
{
    int other_end;
    nested_t nested = {0};
    ik_watch_t *watch = watch_silence(&other_end);
    ik_timer_t *timer = ik_timer_create(ctx, loop, on_outer_timer, &nested);
    nested.timer = ik_timer_create(ctx, loop, on_timer, &nested.inner);
    ik_timer_start(timer, 0);
    ck_assert(ik_loop_run_until(loop, &nested.outer));
    talloc_free(timer);
    talloc_free(nested.timer);
    talloc_free(watch);
    close(other_end);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loop");
    TCase *tests = tcase_create("loop");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, a_timer_that_does_it_ends_the_waiting, 0, 3);
    tcase_add_test(tests, what_is_done_already_is_not_waited_for);
    tcase_add_test(tests, with_nothing_left_to_wait_for_it_returns);
    tcase_add_test(tests, waiting_inside_waiting_ends_one_after_the_other);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

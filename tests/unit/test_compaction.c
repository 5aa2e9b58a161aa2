#include <check.h>
#include <string.h>

#include "agent/compaction.h"
#include "base/alloc.h"
#include "suite.h"

static void *ctx;
static ik_conversation_t *conversation;

static void set_up(void)
{
    ctx = talloc_new(NULL);
    conversation = ik_conversation_create(ctx);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static void add(const char *kind, const char *data)
{
    ik_conversation_append(conversation, ik_msg_create(conversation, kind, "x", data));
}

/* A step whose results have outputs of so many bytes; 0 ends them. */
static void add_step(const size_t *sizes)
{
    for (size_t i = 0; sizes[i] > 0; i++) {
        add(IK_MSG_TOOL_CALL, "{}");
    }
    for (size_t i = 0; sizes[i] > 0; i++) {
        char *output = ik_new_array(ctx, char, sizes[i] + 1);
        memset(output, 'x', sizes[i]);
        add(IK_MSG_TOOL_RESULT, ik_sprintf(ctx, "{\"output\":\"%s\"}", output));
    }
}

/* One step for each size, one result each. */
static void add_steps(const size_t *sizes)
{
    for (size_t i = 0; sizes[i] > 0; i++) {
        add_step((const size_t[]){sizes[i], 0});
    }
}

/* What trimming an output of that size saves: the marker stays, the quotes count. */
static size_t saved_by(size_t size)
{
    size_t marker = strlen(ik_conversation_trimmed_envelope);
    return size + 2 > marker ? size + 2 - marker : 0;
}

static size_t plan(size_t now, size_t bytes)
{
    return ik_compaction_plan(conversation, now, bytes);
}

START_TEST(as_many_as_needed_from_the_first)
{
    add(IK_MSG_USER, NULL);
    add_steps((const size_t[]){1000, 2000, 3000, 4000, 0});
    ck_assert_uint_eq(plan(0, 1), 1);
    ck_assert_uint_eq(plan(0, saved_by(1000)), 1);
    ck_assert_uint_eq(plan(0, saved_by(1000) + 1), 2);
    ck_assert_uint_eq(plan(0, saved_by(1000) + saved_by(2000)), 2);
    ck_assert_uint_eq(plan(0, saved_by(1000) + saved_by(2000) + 1), 3);
}
END_TEST

START_TEST(never_fewer_than_one_more)
{
    add_steps((const size_t[]){1000, 2000, 3000, 4000, 0});
    ck_assert_uint_eq(plan(0, 0), 1);
    ck_assert_uint_eq(plan(1, 0), 2);
    ck_assert_uint_eq(plan(2, 0), 3);
}
END_TEST

START_TEST(what_is_trimmed_saves_nothing_again)
{
    add_steps((const size_t[]){9000, 1000, 2000, 3000, 0});
    ck_assert_uint_eq(plan(1, saved_by(1000) + 1), 3);
}
END_TEST

START_TEST(short_results_are_passed_over_but_not_trimmed_for_nothing)
{
    add_steps((const size_t[]){10, 1000, 10, 10, 4000, 0});
    ck_assert_uint_eq(plan(0, 1), 2);       /* the first two, for the second */
    ck_assert_uint_eq(plan(0, 1000000), 2); /* not the two short ones behind it */
    ck_assert_uint_eq(plan(2, 1), 5);       /* nothing else is left but the last step */
}
END_TEST

START_TEST(the_last_step_is_spared_while_anything_else_will_do)
{
    add_step((const size_t[]){1000, 0});
    add_step((const size_t[]){2000, 3000, 0});
    add(IK_MSG_USER, NULL);
    ck_assert_uint_eq(plan(0, 1000000), 1);
    ck_assert_uint_eq(plan(1, 1), 2);
    ck_assert_uint_eq(plan(1, saved_by(2000) + 1), 3);
    ck_assert_uint_eq(plan(1, 1000000), 3);
}
END_TEST

START_TEST(an_answer_makes_all_results_old)
{
    add_step((const size_t[]){1000, 2000, 0});
    add(IK_MSG_ASSISTANT, NULL);
    add(IK_MSG_USER, NULL);
    ck_assert_uint_eq(plan(0, 1000000), 2);
}
END_TEST

START_TEST(nothing_is_left)
{
    ck_assert_uint_eq(plan(0, 1), 0);
    add(IK_MSG_USER, NULL);
    add_steps((const size_t[]){10, 10, 0});
    ck_assert_uint_eq(plan(0, 1), 0);
    add_steps((const size_t[]){1000, 0});
    ck_assert_uint_eq(plan(3, 1), 3);
    ck_assert_uint_eq(plan(7, 1), 7);
}
END_TEST

START_TEST(the_last_step_is_never_trimmed_early)
{
    add(IK_MSG_USER, NULL);
    add_steps((const size_t[]){1000, 2000, 3000, 0});
    ck_assert_uint_eq(ik_compaction_plan_older(conversation, 0, 1), 1);
    ck_assert_uint_eq(ik_compaction_plan_older(conversation, 0, 1000000), 2);
    ck_assert_uint_eq(ik_compaction_plan_older(conversation, 2, 1000000), 2);
}
END_TEST

/* --- summaries --------------------------------------------------------------------------- */

/* A turn whose answer has so many bytes. */
static void add_turn(size_t size)
{
    char *answer = ik_new_array(ctx, char, size + 1);
    memset(answer, 'a', size);
    add(IK_MSG_USER, NULL);
    ik_conversation_append(
        conversation, ik_msg_create(conversation, IK_MSG_ASSISTANT, answer, "{\"model\":\"p/m\"}"));
}

/* Plans a summary; returns the index of the first message that is kept, SIZE_MAX: no summary. */
static size_t summarise(size_t room, ik_compaction_keep_t keep)
{
    ik_compaction_summary_t plan;
    ik_context_t *context = ik_context_create(ctx, conversation);
    return ik_compaction_plan_summary(context, room, keep, &plan) ? plan.index : SIZE_MAX;
}

START_TEST(nothing_to_summarise)
{
    ck_assert_uint_eq(summarise(0, IK_COMPACTION_LAST_STEPS), SIZE_MAX);
    add(IK_MSG_SYSTEM, NULL);
    add(IK_MSG_USER, NULL);
    ck_assert_uint_eq(summarise(0, IK_COMPACTION_LAST_STEPS), SIZE_MAX);
    add_step((const size_t[]){1000, 0}); /* the model has not seen its result */
    ck_assert_uint_eq(summarise(0, IK_COMPACTION_LAST_STEPS), SIZE_MAX);
    ck_assert_uint_eq(summarise(0, IK_COMPACTION_LEAST), SIZE_MAX);
}
END_TEST

START_TEST(a_single_answer_is_summarised)
{
    add_turn(1000);
    ck_assert_uint_eq(summarise(0, IK_COMPACTION_LAST_STEPS), 2);
    add(IK_MSG_USER, NULL);
    ck_assert_uint_eq(summarise(0, IK_COMPACTION_LAST_STEPS), 2);
}
END_TEST

START_TEST(the_last_answer_is_kept_with_its_question)
{
    add_turn(1000);
    add_turn(500);
    add(IK_MSG_USER, NULL);
    ck_assert_uint_eq(summarise(0, IK_COMPACTION_LAST_STEPS), 2);
    ck_assert_uint_eq(summarise(0, IK_COMPACTION_LEAST), 4);
    ck_assert_uint_eq(summarise(1000, IK_COMPACTION_LAST_STEPS), 4); /* too large for the window */
}
END_TEST

START_TEST(a_long_last_answer_is_not_kept)
{
    add_turn(1000);
    add_turn(5000);
    ck_assert_uint_eq(summarise(0, IK_COMPACTION_LAST_STEPS), 4);
}
END_TEST

START_TEST(a_quarter_is_kept)
{
    for (size_t i = 0; i < 20; i++) {
        add_turn(1000);
    }
    ck_assert_uint_eq(summarise(0, IK_COMPACTION_LAST_STEPS), 30);
    ck_assert_uint_eq(summarise(8100, IK_COMPACTION_LAST_STEPS), 36);
}
END_TEST

START_TEST(calls_that_wait_for_an_answer_are_kept)
{
    add_turn(1000);
    add(IK_MSG_USER, NULL);
    add_step((const size_t[]){90000, 90000, 0});
    ck_assert_uint_eq(summarise(1000, IK_COMPACTION_LEAST), 2);
    add(IK_MSG_USER, NULL); /* the user wrote meanwhile */
    ck_assert_uint_eq(summarise(1000, IK_COMPACTION_LEAST), 2);
}
END_TEST

START_TEST(what_a_summary_covers_and_gains)
{
    ik_compaction_summary_t plan;
    add(IK_MSG_SYSTEM, NULL);
    add_turn(1000);
    add_turn(10);
    ik_context_t *context = ik_context_create(ctx, conversation);
    ck_assert(ik_compaction_plan_summary(context, 0, IK_COMPACTION_LAST_STEPS, &plan));
    ck_assert_uint_eq(plan.index, 3);
    ck_assert_uint_eq(plan.covers, 2);
    ck_assert_uint_eq(plan.gain, 1000);
    ck_assert_uint_eq(plan.words_limit, IK_CONTEXT_WORDS_MAX);
}
END_TEST

/* The words of an earlier summary are not text that needs another one. */
START_TEST(a_summary_is_not_summarised_by_itself)
{
    add_turn(1000);
    ik_conversation_append(conversation, ik_msg_create(conversation, IK_MSG_COMPACTION, "x",
                                                       "{\"summary\":\"much\",\"covers\":2}"));
    ck_assert_uint_eq(summarise(0, IK_COMPACTION_LAST_STEPS), SIZE_MAX);
    add_turn(100);
    ck_assert_uint_eq(summarise(0, IK_COMPACTION_LAST_STEPS), 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compaction");
    TCase *tests = tcase_create("compaction");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, as_many_as_needed_from_the_first);
    tcase_add_test(tests, never_fewer_than_one_more);
    tcase_add_test(tests, what_is_trimmed_saves_nothing_again);
    tcase_add_test(tests, short_results_are_passed_over_but_not_trimmed_for_nothing);
    tcase_add_test(tests, the_last_step_is_spared_while_anything_else_will_do);
    tcase_add_test(tests, an_answer_makes_all_results_old);
    tcase_add_test(tests, nothing_is_left);
    tcase_add_test(tests, the_last_step_is_never_trimmed_early);
    tcase_add_test(tests, nothing_to_summarise);
    tcase_add_test(tests, a_single_answer_is_summarised);
    tcase_add_test(tests, the_last_answer_is_kept_with_its_question);
    tcase_add_test(tests, a_long_last_answer_is_not_kept);
    tcase_add_test(tests, a_quarter_is_kept);
    tcase_add_test(tests, calls_that_wait_for_an_answer_are_kept);
    tcase_add_test(tests, what_a_summary_covers_and_gains);
    tcase_add_test(tests, a_summary_is_not_summarised_by_itself);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

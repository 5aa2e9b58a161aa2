/* Tests of the log as undo reads it, on a real file: turns, segments, and what can be redone. */
#include "base/alloc.h"
#include "scratch.h"
#include "store/session.h"
#include "undo/undo_log.h"

static void *ctx;
static ik_history_t *history;
static ik_session_t *session;

static void set_up(void)
{
    ik_loop_t *loop;
    scratch_empty();
    ctx = talloc_new(NULL);
    ck_assert_int_eq(ik_loop_create(ctx, &loop).code, IK_ERR_NONE);
    history = ik_history_create(
        ctx, &(ik_history_options_t){.db = scratch_path("ikigai.db"), .loop = loop});
    session = ik_session_create(history, history,
                                &(ik_session_facts_t){.cwd = "/project", .model = "x/y"});
}

static void tear_down(void)
{
    talloc_free(history);
    talloc_free(ctx);
}

static void add(int64_t agent, const char *kind, const char *text, const char *data)
{
    ik_msg_t *message = ik_msg_create(ctx, kind, text, data);
    res_t added = ik_session_append(session, agent, &message, 1, IK_STORE_NORMAL);
    ck_assert_msg(is_ok(&added), "%s", added.message);
}

static void ask(int64_t agent, const char *text)
{
    add(agent, IK_MSG_USER, text, NULL);
}

static void mark(int64_t agent, const char *phase, const char *state)
{
    add(agent, IK_MSG_CHECKPOINT, NULL,
        ik_sprintf(ctx, "{\"phase\":\"%s\",\"states\":[\"%s\"]}", phase, state));
}

static void change(int64_t agent, const char *before, const char *after)
{
    mark(agent, "before", before);
    mark(agent, "after", after);
}

static ik_undo_log_t *read_log(void)
{
    ik_store_t *store;
    ik_undo_log_t *log;
    ck_assert_int_eq(ik_history_local(history, &store).code, IK_ERR_NONE);
    res_t read = ik_undo_log_read(ctx, store, ik_session_id(session), &log);
    ck_assert_msg(is_ok(&read), "%s", read.message);
    return log;
}

/* "a>b c>?": the first state before and after each segment. */
static const char *format(ik_undo_segments_t segments)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&text, "");
    for (size_t i = 0; i < segments.count; i++) {
        const ik_undo_segment_t *segment = &segments.items[i];
        ik_buffer_append_format(&text, "%s%s>%s", i == 0 ? "" : " ", segment->before[0],
                                segment->after == NULL ? "?" : segment->after[0]);
    }
    return text.data;
}

START_TEST(turns_begin_with_questions)
{
    add(1, IK_MSG_SYSTEM, "prompt", NULL);
    ask(1, "first");
    change(1, "a", "b");
    add(1, IK_MSG_USER, "and this", "{\"steering\":true}");
    change(1, "b", "c");
    add(1, IK_MSG_USER, "listing", "{\"command\":\"ls\"}");
    ask(1, "second");
    change(1, "c", "d");
    const ik_undo_line_t *line = ik_undo_log_line(read_log(), 1);
    ck_assert_uint_eq(line->turn_count, 2);
    ck_assert_str_eq(line->turns[0].prompt, "first");
    ck_assert_int_eq(line->turns[0].seq, 2);
    ck_assert_str_eq(line->turns[1].prompt, "second");
    ck_assert_str_eq(format(line->segments), "a>b b>c c>d");
    ck_assert_str_eq(format(ik_undo_log_between(line, line->turns[1].seq, INT64_MAX)), "c>d");
    ck_assert_ptr_null(line->undone);
}
END_TEST

START_TEST(calls_without_an_end)
{
    ask(1, "first");
    mark(1, "before", "a"); /* killed, and not resumed with checkpoints */
    ask(1, "second");
    mark(1, "before", "b");
    add(1, IK_MSG_CHECKPOINT, NULL, "{\"phase\":\"after\",\"states\":[]}"); /* not recorded */
    mark(1, "before", "c");
    const ik_undo_line_t *line = ik_undo_log_line(read_log(), 1);
    ck_assert_str_eq(format(line->segments), "a>? b>? c>?");
    ck_assert_int_eq(line->segments.items[0].ended_us, INT64_MAX);
    ck_assert_int_lt(line->segments.items[1].ended_us, INT64_MAX);
    ck_assert(line->segments.items[1].unsure && line->segments.items[2].unsure);
    add(1, IK_MSG_CHECKPOINT, NULL, "{\"phase\":\"after\",\"late\":true,\"states\":[\"d\"]}");
    change(1, "e", "f");
    line = ik_undo_log_line(read_log(), 1);
    ck_assert_str_eq(format(line->segments), "a>? b>? c>d e>f");
    ck_assert(line->segments.items[2].unsure); /* resumed */
    ck_assert(!line->segments.items[3].unsure);
}
END_TEST

START_TEST(a_fork_leaves_out_the_calls_that_were_running)
{
    ask(1, "first");
    change(1, "a", "b");
    mark(1, "before", "c");
    int64_t at = ik_session_last_seq(session, 1);
    mark(1, "after", "d");
    int64_t fork = ik_session_fork(session, 1, at);
    ask(fork, "second");
    change(fork, "e", "f");
    ik_undo_log_t *log = read_log();
    ck_assert_str_eq(format(ik_undo_log_line(log, fork)->segments), "a>b e>f");
    ck_assert_str_eq(format(ik_undo_log_line(log, 1)->segments), "a>b c>d");
    ck_assert_str_eq(format(ik_undo_log_everything(log)), "a>b c>d e>f");
}
END_TEST

START_TEST(an_undo_and_what_finished_it)
{
    ask(1, "first");
    change(1, "a", "b");
    ask(1, "second");
    change(1, "b", "c");
    int64_t second = ik_session_fork(session, 1, 3);
    add(second, IK_MSG_UNDO, "",
        "{\"agent\":1,\"turns\":1,\"prompt\":\"second\",\"message\":4,\"until\":6,"
        "\"before\":[\"p\"],\"after\":[\"q\"],\"conflicts\":[{\"path\":\"x\"}]}");
    ik_undo_log_t *log = read_log();
    ck_assert_int_eq(ik_undo_log_last_agent(log), second);
    const ik_undo_line_t *line = ik_undo_log_line(log, second);
    ck_assert_uint_eq(line->turn_count, 1);
    ck_assert_str_eq(format(line->segments), "a>b"); /* its own restoring is no part of the turn */
    ck_assert_ptr_nonnull(line->undone);
    ck_assert_int_eq(line->undone->agent, 1);
    ck_assert_str_eq(line->undone->prompt, "second");
    ck_assert_str_eq(line->undone->conflicts, "[{\"path\":\"x\"}]");
    ck_assert_str_eq(format(line->undone->restores), "p>q");
    ck_assert_str_eq(format(ik_undo_log_between(ik_undo_log_line(log, 1), line->undone->message,
                                                line->undone->until)),
                     "b>c");

    add(second, IK_MSG_UNDO, "",
        "{\"finishes\":true,\"before\":[\"r\"],\"after\":[\"s\"],\"conflicts\":[]}");
    line = ik_undo_log_line(read_log(), second);
    ck_assert_int_eq(line->undone->agent, 1);
    ck_assert_ptr_null(line->undone->conflicts);
    ck_assert_str_eq(format(line->undone->restores), "p>q r>s");

    add(second, IK_MSG_USER, "listing", "{\"command\":\"ls\"}");
    ck_assert_ptr_null(ik_undo_log_line(read_log(), second)->undone);
}
END_TEST

START_TEST(undos_that_leave_the_conversation_are_a_stack)
{
    ask(1, "first");
    change(1, "a", "b");
    add(1, IK_MSG_UNDO, "", "{\"turns\":1,\"before\":[\"b\"],\"after\":[\"c\"]}");
    add(1, IK_MSG_UNDO, "", "{\"turns\":2,\"before\":[\"c\"],\"after\":[\"d\"]}");
    ck_assert_int_eq(ik_undo_log_line(read_log(), 1)->undone->turns, 2);
    add(1, IK_MSG_REDO, "", "{\"turns\":2,\"before\":[\"d\"],\"after\":[\"c\"]}");
    const ik_undo_line_t *line = ik_undo_log_line(read_log(), 1);
    ck_assert_int_eq(line->undone->turns, 1);
    ck_assert_str_eq(format(line->segments), "a>b b>c c>d d>c");
    add(1, IK_MSG_REDO, "", "{\"turns\":1,\"before\":[\"c\"],\"after\":[\"b\"]}");
    ck_assert_ptr_null(ik_undo_log_line(read_log(), 1)->undone);
}
END_TEST

START_TEST(redo_continues_the_stack_of_the_agent_it_brings_back)
{
    ask(1, "first");
    ask(1, "second");
    int64_t second = ik_session_fork(session, 1, 1);
    add(second, IK_MSG_UNDO, "", "{\"agent\":1,\"turns\":1,\"message\":2,\"until\":2}");
    int64_t third = ik_session_fork(session, second, 0);
    add(third, IK_MSG_UNDO, "", "{\"agent\":2,\"turns\":1,\"message\":1,\"until\":2}");
    int64_t fourth = ik_session_fork(session, second, 2);
    add(fourth, IK_MSG_REDO, "", "{\"agent\":3,\"turns\":1}");
    ik_undo_log_t *log = read_log();
    ck_assert_int_eq(ik_undo_log_last_agent(log), fourth);
    ck_assert_uint_eq(ik_undo_log_line(log, third)->turn_count, 0);
    ck_assert_uint_eq(ik_undo_log_line(log, fourth)->turn_count, 1);
    ck_assert_int_eq(ik_undo_log_line(log, fourth)->undone->agent, 1);
}
END_TEST

START_TEST(data_of_any_form_is_survived)
{
    static const char *const forms[] = {NULL,
                                        "{}",
                                        "[]",
                                        "nonsense",
                                        "{\"agent\":\"x\"}",
                                        "{\"before\":[1],\"after\":{}}",
                                        "{\"states\":3}",
                                        "{\"phase\":\"before\"}",
                                        "{\"finishes\":true}"};
    static const char *const kinds[] = {IK_MSG_UNDO, IK_MSG_REDO,      IK_MSG_CHECKPOINT,
                                        IK_MSG_USER, IK_MSG_TOOL_CALL, IK_MSG_MODE};
    ask(1, "first");
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
            add(1, kinds[k], NULL, forms[i]);
        }
    }
    ik_undo_log_t *log = read_log();
    ck_assert_uint_gt(ik_undo_log_line(log, 1)->turn_count, 1);
    ck_assert_uint_eq(ik_undo_log_everything(log).count, 0);
    ck_assert_uint_eq(ik_undo_log_line(log, 99)->turn_count, 0);
}
END_TEST

START_TEST(segments_that_run_at_the_same_time)
{
    ik_store_t *store;
    ik_undo_segments_t others;
    ask(1, "first");
    int64_t second = ik_session_fork(session, 1, 1);
    mark(1, "before", "a");
    change(second, "x", "y");
    mark(1, "after", "b");
    change(second, "y", "z");
    ck_assert_int_eq(ik_history_local(history, &store).code, IK_ERR_NONE);
    ik_undo_log_t *log = read_log();
    const ik_undo_line_t *line = ik_undo_log_line(log, 1);
    res_t found = ik_undo_log_find_others(log, store, "/project", line, &line->segments, &others);
    ck_assert_msg(is_ok(&found), "%s", found.message);
    ck_assert_str_eq(format(others), "x>y");
}
END_TEST

START_TEST(turns_follow_each_other_when_the_clock_goes_back)
{
    ik_store_t *store;
    ik_undo_segments_t others;
    ask(1, "first");
    change(1, "a", "b");
    ask(1, "second");
    change(1, "b", "c");
    ck_assert_int_eq(ik_history_local(history, &store).code, IK_ERR_NONE);
    ik_undo_log_t *log = read_log();
    const ik_undo_line_t *line = ik_undo_log_line(log, 1);
    ik_undo_segments_t last = ik_undo_log_between(line, line->turns[1].seq, INT64_MAX);
    ck_assert_str_eq(format(last), "b>c");
    last.items[0].begun_us = line->segments.items[0].begun_us;
    res_t found = ik_undo_log_find_others(log, store, "/project", line, &last, &others);
    ck_assert_msg(is_ok(&found), "%s", found.message);
    ck_assert_str_eq(format(others), "");
}
END_TEST

/* "b a>c d": all states of each segment. */
static const char *format_all(ik_undo_segments_t segments)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&text, "");
    for (size_t i = 0; i < segments.count; i++) {
        const ik_undo_segment_t *segment = &segments.items[i];
        ik_buffer_append_text(&text, i == 0 ? "" : "; ");
        for (size_t k = 0; segment->before[k] != NULL; k++) {
            ik_buffer_append_format(&text, "%s%s", k == 0 ? "" : " ", segment->before[k]);
        }
        for (size_t k = 0; segment->after != NULL && segment->after[k] != NULL; k++) {
            ik_buffer_append_format(&text, "%s%s", k == 0 ? ">" : " ", segment->after[k]);
        }
    }
    return text.data;
}

START_TEST(sub_agents_belong_to_the_turn_of_their_call)
{
    ask(1, "first");
    change(1, "a", "b");
    ask(1, "second");
    add(1, IK_MSG_TOOL_CALL, "agent()", "{\"id\":\"c1\",\"function\":{\"name\":\"agent\"}}");
    int64_t child = ik_session_delegate(session, 1, &(ik_delegation_t){.call_id = "c1"});
    ask(child, "task");
    change(child, "c", "d");
    add(child, IK_MSG_TOOL_CALL, "agent()", "{\"id\":\"c1\",\"function\":{\"name\":\"agent\"}}");
    int64_t below = ik_session_delegate(session, child, &(ik_delegation_t){.call_id = "c1"});
    ask(below, "task");
    change(below, "e", "f");
    int64_t other = ik_session_delegate(session, 1, &(ik_delegation_t){.call_id = "c2"});
    change(other, "x", "y");
    ask(1, "third");
    change(1, "g", "h");
    ik_undo_log_t *log = read_log();
    const ik_undo_line_t *line = ik_undo_log_line(log, 1);
    ck_assert_int_eq(line->turn_count, 3);
    ck_assert_str_eq(format(ik_undo_log_between(line, line->turns[1].seq, line->turns[2].seq - 1)),
                     "c>d e>f");
    ck_assert_str_eq(format(ik_undo_log_between(line, line->turns[0].seq, line->turns[1].seq - 1)),
                     "a>b");
    ck_assert_int_eq(ik_undo_log_last_agent(log), 1);
    ck_assert_int_eq(ik_session_last_agent(session), 1);
    ck_assert_str_eq(format(ik_undo_log_line(log, child)->segments), "c>d e>f");
}
END_TEST

START_TEST(segments_that_overlap_are_joined)
{
    static const char *const states[][2] = {{"a"}, {"b"}, {"c"}, {"d"}, {"e"}, {"f"}, {"g"}};
    ik_undo_segment_t items[] = {
        /* begins first and ends last; the second is inside, the third begins later */
        {.agent = 2, .begun_us = 20, .ended_us = 30, .before = states[0], .after = states[1]},
        {.agent = 1, .begun_us = 10, .ended_us = 40, .before = states[2], .after = states[3]},
        {.agent = 1, .begun_us = 50, .ended_us = 60, .before = states[4], .after = states[5]},
        {.agent = 3, .begun_us = 55, .ended_us = INT64_MAX, .before = states[6]},
    };
    ik_undo_segments_t joined =
        ik_undo_log_join(ctx, &(ik_undo_segments_t){.items = items, .count = 4});
    ck_assert_str_eq(format_all(joined), "a c>b d; e>f; g");
    joined = ik_undo_log_join(ctx, &(ik_undo_segments_t){.items = items + 1, .count = 2});
    ck_assert_str_eq(format_all(joined), "c>d; e>f");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("undo_log");
    TCase *tests = tcase_create("undo_log");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, turns_begin_with_questions);
    tcase_add_test(tests, calls_without_an_end);
    tcase_add_test(tests, a_fork_leaves_out_the_calls_that_were_running);
    tcase_add_test(tests, an_undo_and_what_finished_it);
    tcase_add_test(tests, undos_that_leave_the_conversation_are_a_stack);
    tcase_add_test(tests, redo_continues_the_stack_of_the_agent_it_brings_back);
    tcase_add_test(tests, data_of_any_form_is_survived);
    tcase_add_test(tests, segments_that_run_at_the_same_time);
    tcase_add_test(tests, turns_follow_each_other_when_the_clock_goes_back);
    tcase_add_test(tests, sub_agents_belong_to_the_turn_of_their_call);
    tcase_add_test(tests, segments_that_overlap_are_joined);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}

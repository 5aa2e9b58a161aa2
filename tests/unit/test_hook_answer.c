#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "hook/hook_answer.h"
#include "hook/hook_payload.h"
#include "suite.h"

static void *ctx;

static void set_up(void)
{
    ctx = talloc_new(NULL);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static ik_hook_answer_t parse(ik_hook_event_t event, int status, const char *out, const char *err)
{
    return ik_hook_answer_parse(ctx, event,
                                &(ik_hook_output_t){.status = status,
                                                    .out = {out, strlen(out)},
                                                    .err = {err, strlen(err)}});
}

static ik_hook_answer_t before(const char *out)
{
    return parse(IK_HOOK_BEFORE_TOOL, 0, out, "");
}

START_TEST(exit_statuses)
{
    ik_hook_answer_t answer = parse(IK_HOOK_BEFORE_TOOL, 0, "", "ignored");
    ck_assert_int_eq(answer.decision, IK_HOOK_SILENCE);
    ck_assert_ptr_null(answer.failure);
    answer = parse(IK_HOOK_BEFORE_TOOL, 2, "{\"decision\":\"allow\"}", " no \n");
    ck_assert_int_eq(answer.decision, IK_HOOK_DENY);
    ck_assert_str_eq(answer.reason, "no");
    answer = parse(IK_HOOK_BEFORE_TOOL, 49, "", "");
    ck_assert(answer.stops);
    ck_assert_ptr_null(answer.reason);
    answer = parse(IK_HOOK_BEFORE_TOOL, 1, "{\"decision\":\"deny\"}", "first\nsecond");
    ck_assert_str_eq(answer.failure, "it exited with status 1: first");
    ck_assert_int_eq(answer.decision, IK_HOOK_SILENCE);
    ck_assert_str_eq(parse(IK_HOOK_TURN_END, 137, "", "").failure, "signal 9 ended it");
    ck_assert_str_eq(parse(IK_HOOK_TURN_END, -1, "", "").failure, "its exit status is not known");
}
END_TEST

START_TEST(decisions_of_other_agents)
{
    static const struct {
        const char *out;
        ik_hook_decision_t decision;
        const char *reason;
    } rows[] = {
        {"{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":"
         "\"deny\","
         "\"permissionDecisionReason\":\"r\"}}",
         IK_HOOK_DENY, "r"},
        {"{\"hookSpecificOutput\":{\"permissionDecision\":\"ask\"}}", IK_HOOK_ASK, NULL},
        {"{\"hookSpecificOutput\":{\"permissionDecision\":\"allow\"}}", IK_HOOK_ALLOW, NULL},
        {"{\"hookSpecificOutput\":{\"permissionDecision\":\"defer\"}}", IK_HOOK_SILENCE, NULL},
        {"{\"decision\":\"approve\",\"reason\":\"fine\"}", IK_HOOK_ALLOW, "fine"},
        {"  {\"decision\":\"block\",\"reason\":\"r\"}\n", IK_HOOK_DENY, "r"},
        {"{\"version\":1,\"decision\":\"deny\",\"reason\":\"\"}", IK_HOOK_DENY, NULL},
        {"{\"decision\":null}", IK_HOOK_SILENCE, NULL},
        {"{\"decision\":\"allow\",\"hookSpecificOutput\":{\"permissionDecision\":\"deny\"}}",
         IK_HOOK_DENY, NULL},
        {"{}", IK_HOOK_SILENCE, NULL},
        {"[\"decision\"]", IK_HOOK_SILENCE, NULL},
        {"junk", IK_HOOK_SILENCE, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ik_hook_answer_t answer = before(rows[i].out);
        ck_assert_msg(answer.failure == NULL, "%s", rows[i].out);
        ck_assert_int_eq(answer.decision, rows[i].decision);
        ck_assert_pstr_eq(answer.reason, rows[i].reason);
    }
}
END_TEST

START_TEST(broken_answers_are_failures)
{
    static const char *const rows[] = {
        "{",
        "{\"decision\":\"deny\"",
        "{\"decision\":\"deny\"} x",
        "{\"decision\":\"maybe\"}",
        "{\"decision\":true}",
        "{\"hookSpecificOutput\":{\"updatedInput\":\"x\"}}",
        "{\"updated_input\":[]}",
        "{\"reason\":\"\xff\"}",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ik_hook_answer_t answer = before(rows[i]);
        ck_assert_msg(answer.failure != NULL, "%s", rows[i]);
        ck_assert_int_eq(answer.decision, IK_HOOK_SILENCE);
        ck_assert_ptr_null(answer.input);
    }
}
END_TEST

START_TEST(the_end_of_a_turn)
{
    ik_hook_answer_t answer =
        before("{\"continue\":false,\"stopReason\":\"late\",\"reason\":\"x\"}");
    ck_assert(answer.stops);
    ck_assert_str_eq(answer.reason, "late");
    answer = before("{\"halt\":true,\"reason\":\"x\"}");
    ck_assert(answer.stops);
    ck_assert_str_eq(answer.reason, "x");
    ck_assert(!before("{\"continue\":true,\"halt\":false}").stops);
    ck_assert(!before("{\"continue\":\"false\"}").stops);
}
END_TEST

START_TEST(texts)
{
    ik_hook_answer_t answer = before("{\"systemMessage\":\"hello\",\"context\":[\"a\",\"\",\"b\"],"
                                     "\"hookSpecificOutput\":{\"additionalContext\":\"c\"}}");
    ck_assert_str_eq(answer.message, "hello");
    ck_assert_str_eq(answer.context, "a\nb\nc");
    ck_assert_ptr_null(before("plain").context);
    ck_assert_str_eq(parse(IK_HOOK_USER_PROMPT, 0, " plain \n", "").context, "plain");
    ck_assert_str_eq(parse(IK_HOOK_SESSION_START, 0, "[1]", "").context, "[1]");
    ck_assert_str_eq(parse(IK_HOOK_AFTER_TOOL, 0, "a\xff", "").context, "a\xef\xbf\xbd");
    ck_assert_ptr_null(parse(IK_HOOK_TURN_END, 0, "plain", "").context);
    ck_assert_ptr_null(parse(IK_HOOK_USER_PROMPT, 0, " \n", "").context);
}
END_TEST

static void add(ik_hook_outcome_t *outcome, const char *hook, bool of_project, const char *out)
{
    ik_hook_answer_t answer = before(out);
    ck_assert_ptr_null(answer.failure);
    ik_hook_outcome_add(ctx, outcome, &answer, hook, of_project, "{\"a\":1,\"b\":{\"c\":2}}");
}

START_TEST(the_strongest_decision_wins)
{
    ik_hook_outcome_t outcome = {0};
    add(&outcome, "p", true, "{\"decision\":\"allow\"}");
    ck_assert_int_eq(outcome.decision, IK_HOOK_SILENCE);
    ck_assert_ptr_null(outcome.hook);
    add(&outcome, "u", false, "{\"decision\":\"allow\",\"reason\":\"fine\"}");
    ck_assert_int_eq(outcome.decision, IK_HOOK_ALLOW);
    add(&outcome, "v", false, "{\"decision\":\"ask\"}");
    ck_assert_int_eq(outcome.decision, IK_HOOK_ASK);
    ck_assert_str_eq(outcome.hook, "v");
    ck_assert_ptr_null(outcome.reason);
    add(&outcome, "w", false, "{\"decision\":\"deny\"}");
    ck_assert_str_eq(outcome.reason, "The hook w denied this");
    add(&outcome, "x", false, "{\"decision\":\"deny\",\"reason\":\"second\"}");
    add(&outcome, "y", false, "{\"decision\":\"allow\"}");
    ck_assert_int_eq(outcome.decision, IK_HOOK_DENY);
    ck_assert_str_eq(outcome.hook, "w");
    add(&outcome, "z", false, "{\"halt\":true,\"reason\":\"stop\"}");
    ck_assert(outcome.stops);
    ck_assert_str_eq(outcome.hook, "z");
    ck_assert_str_eq(outcome.reason, "stop");
}
END_TEST

START_TEST(rewrites_follow_each_other)
{
    ik_hook_outcome_t outcome = {0};
    add(&outcome, "a", true, "{\"updated_input\":{\"a\":2,\"d\":3}}");
    ck_assert_str_eq(outcome.input, "{\"a\":2,\"b\":{\"c\":2},\"d\":3}");
    add(&outcome, "b", false, "{\"hookSpecificOutput\":{\"updatedInput\":{\"a\": 9}}}");
    ck_assert_str_eq(outcome.input, "{\"a\": 9}");
    add(&outcome, "c", false, "{\"updated_input\":{\"b\":0}}");
    ck_assert_str_eq(outcome.input, "{\"a\":9,\"b\":0}");
    add(&outcome, "d", false, "{}");
    ck_assert_str_eq(outcome.input, "{\"a\":9,\"b\":0}");
    add(&outcome, "e", false, "{\"updated_input\":{\"a\":1e999}}");
    add(&outcome, "f", false, "{\"updated_input\":{\"b\":1}}");
    ck_assert_str_eq(outcome.input, "{\"a\":1e999,\"b\":1}");
}
END_TEST

static char *format(const ik_hook_occasion_t *occasion, const ik_hook_agent_t *agent)
{
    size_t len;
    char *text = ik_hook_payload_format(ctx, occasion, agent, "/p", occasion->input, &len);
    ck_assert_uint_eq(len, strlen(text));
    ck_assert_int_eq(strcspn(text, "\n"), (int)len - 1); /* one line */
    return text;
}

START_TEST(payloads)
{
    ik_hook_agent_t agent = {.session_id = "s", .model = "m/x", .mode = IK_MODE_PLAN};
    ck_assert_str_eq(
        format(&(ik_hook_occasion_t){.event = IK_HOOK_BEFORE_TOOL,
                                     .agent = 1,
                                     .tool = "bash",
                                     .input = "{\"command\":\n\"ls\"}",
                                     .call_id = "c1"},
               &agent),
        "{\"session_id\":\"s\",\"transcript_path\":null,\"cwd\":\"/p\",\"model\":\"m/x\","
        "\"permission_mode\":\"plan\",\"agent\":1,\"event\":\"before_tool\","
        "\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"bash\","
        "\"tool_input\":{\"command\": \"ls\"},\"tool_use_id\":\"c1\"}\n");
    ck_assert_ptr_nonnull(strstr(
        format(&(ik_hook_occasion_t){.event = IK_HOOK_BEFORE_COMPACT, .trigger = "auto"}, &agent),
        "\"event\":\"before_compact\",\"hook_event_name\":\"PreCompact\",\"trigger\":\"auto\"}\n"));
    agent.id = "2";
    agent.type = "reviewer";
    char *sub = format(
        &(ik_hook_occasion_t){.event = IK_HOOK_TURN_END, .agent = 2, .stop_hook_active = true},
        &agent);
    ck_assert_ptr_nonnull(
        strstr(sub, "\"agent\":2,\"agent_id\":\"2\",\"agent_type\":\"reviewer\","));
    ck_assert_ptr_nonnull(strstr(
        sub,
        "\"event\":\"turn_end\",\"hook_event_name\":\"SubagentStop\",\"stop_hook_active\":true}"));
}
END_TEST

START_TEST(events_have_names)
{
    ik_hook_event_t event;
    for (int i = 0; i < IK_HOOK_EVENTS; i++) {
        ck_assert(ik_hook_event_parse(ik_hook_event_name((ik_hook_event_t)i), &event));
        ck_assert_int_eq(event, i);
    }
    ck_assert(!ik_hook_event_parse("PreToolUse", &event));
    ck_assert(!ik_hook_event_parse("", &event));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hook_answer");
    TCase *tests = tcase_create("hook_answer");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, exit_statuses);
    tcase_add_test(tests, decisions_of_other_agents);
    tcase_add_test(tests, broken_answers_are_failures);
    tcase_add_test(tests, the_end_of_a_turn);
    tcase_add_test(tests, texts);
    tcase_add_test(tests, the_strongest_decision_wins);
    tcase_add_test(tests, rewrites_follow_each_other);
    tcase_add_test(tests, payloads);
    tcase_add_test(tests, events_have_names);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "conversation/message.h"
#include "store/event_facts.h"
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

static ik_event_facts_t facts_of(const char *kind, const char *content, const char *data_json)
{
    ik_store_event_t event = {.kind = kind, .content = content, .data_json = data_json};
    return ik_event_facts(ctx, &event);
}

static void assert_nothing_known(const ik_event_facts_t *facts)
{
    ck_assert(!facts->user && !facts->answer);
    ck_assert(!ik_usage_known(&facts->usage));
    ck_assert_double_lt(facts->cost, 0);
    ck_assert_ptr_null(facts->model);
    ck_assert_ptr_null(facts->title);
}

/* --- answers ----------------------------------------------------------------------------- */

#define USAGE "\"usage\":{\"in\":40,\"cached\":32,\"cache_write\":3,\"out\":6,\"reasoning\":2}"

static void assert_answer(const ik_event_facts_t *facts)
{
    ck_assert(facts->answer && !facts->user);
    ck_assert_str_eq(facts->model, "p/m");
    ck_assert_int_eq(facts->usage.in, 40);
    ck_assert_int_eq(facts->usage.cached, 32);
    ck_assert_int_eq(facts->usage.cache_write, 3);
    ck_assert_int_eq(facts->usage.out, 6);
    ck_assert_int_eq(facts->usage.reasoning, 2);
    ck_assert_double_eq(facts->cost, 0.25);
    ck_assert_ptr_null(facts->title);
}

START_TEST(what_a_model_answered_to_a_tool)
{
    ik_msg_result_t result = {.call_id = "c", .name = "t", .output = "{}"};
    ik_msg_t *message = ik_msg_create_result(ctx, &result);
    ik_event_facts_t facts = facts_of(message->kind, message->content, message->data_json);
    assert_nothing_known(&facts);
    result.completions = (ik_msg_completions_t){
        .model = "p/m",
        .usage = {.in = 40, .cached = 32, .cache_write = 3, .out = 6, .reasoning = 2},
        .cost = 0.25};
    message = ik_msg_create_result(ctx, &result);
    facts = facts_of(message->kind, message->content, message->data_json);
    assert_answer(&facts);
    ik_json_span_t id;
    ck_assert(ik_msg_field(message, "tool_call_id", &id));
}
END_TEST

START_TEST(an_answer_with_everything)
{
    ik_event_facts_t facts =
        facts_of(IK_MSG_ASSISTANT, "Hi", "{\"model\":\"p/m\"," USAGE ",\"cost_usd\":0.25}");
    assert_answer(&facts);
    facts = facts_of(IK_MSG_TOOL_CALL, "glob()",
                     "{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":\"glob\","
                     "\"arguments\":\"{\\\"model\\\":\\\"no\\\"}\"},\"model\":\"p/m\"," USAGE
                     ",\"cost_usd\":0.25}");
    assert_answer(&facts);
}
END_TEST

/* As the program writes it. */
START_TEST(an_answer_as_it_is_made)
{
    ik_msg_step_t step = {.model = "p/m", .usage = IK_USAGE_NONE};
    step.usage.in = 12;
    step.usage.out = 0;
    const ik_msg_t *message = ik_msg_create_assistant(ctx, "Hi", &step);
    ik_event_facts_t facts = facts_of(message->kind, message->content, message->data_json);
    ck_assert(facts.answer);
    ck_assert_str_eq(facts.model, "p/m");
    ck_assert_int_eq(facts.usage.in, 12);
    ck_assert_int_eq(facts.usage.out, 0);
    ck_assert_int_eq(facts.usage.cached, IK_USAGE_UNKNOWN);
    ck_assert_int_eq(facts.usage.cache_write, IK_USAGE_UNKNOWN);
    ck_assert_int_eq(facts.usage.reasoning, IK_USAGE_UNKNOWN);
    ck_assert_double_lt(facts.cost, 0);
}
END_TEST

START_TEST(a_model_alone)
{
    ik_event_facts_t facts =
        facts_of(IK_MSG_ASSISTANT, NULL, " {\"model\":\"p\\/\\u00e9\\ud800\"} ");
    ck_assert(facts.answer);
    ck_assert_str_eq(facts.model, "p/\xc3\xa9\xef\xbf\xbd");
    ck_assert(!ik_usage_known(&facts.usage));
    facts = facts_of(IK_MSG_ASSISTANT, NULL, "{\"model\":\"p/\xff\"}");
    ck_assert_str_eq(facts.model, "p/\xef\xbf\xbd");
}
END_TEST

static const struct {
    const char *kind;
    const char *data_json;
} unknown[] = {
    {IK_MSG_ASSISTANT, NULL},
    {IK_MSG_ASSISTANT, ""},
    {IK_MSG_ASSISTANT, "{}"},
    {IK_MSG_ASSISTANT, "{" USAGE ",\"cost_usd\":1}"},
    {IK_MSG_ASSISTANT, "{\"model\":null," USAGE "}"},
    {IK_MSG_ASSISTANT, "{\"model\":7," USAGE "}"},
    {IK_MSG_ASSISTANT, "{\"model\":\"p/m\"," USAGE},
    {IK_MSG_ASSISTANT, "[{\"model\":\"p/m\"}]"},
    {IK_MSG_ASSISTANT, "\"model\""},
    {IK_MSG_TOOL_CALL, "{\"function\":{\"model\":\"p/m\"}}"},
    {IK_MSG_TOOL_RESULT, "{\"model\":\"p/m\"," USAGE ",\"cost_usd\":1}"},
    {IK_MSG_SYSTEM, "{\"model\":\"p/m\"," USAGE ",\"cost_usd\":1}"},
    {IK_MSG_COMPACTION, "{\"model\":\"p/m\"," USAGE ",\"cost_usd\":1}"},
    {"note", "{\"model\":\"p/m\"," USAGE ",\"cost_usd\":1}"},
};

START_TEST(a_summary_is_an_answer)
{
    ik_event_facts_t facts =
        facts_of(IK_MSG_COMPACTION, "words",
                 "{\"summary\":\"S\",\"model\":\"p/m\",\"usage\":{\"in\":7},\"cost_usd\":0.5}");
    ck_assert(facts.answer);
    ck_assert_str_eq(facts.model, "p/m");
    ck_assert_int_eq(facts.usage.in, 7);
    ck_assert_double_eq(facts.cost, 0.5);
}
END_TEST

START_TEST(what_is_no_answer)
{
    ik_event_facts_t facts = facts_of(unknown[_i].kind, "words", unknown[_i].data_json);
    assert_nothing_known(&facts);
}
END_TEST

static const struct {
    const char *json;
    int64_t in; /* -1: not known */
} counts[] = {
    {"0", 0},
    {"1125899906842624", INT64_C(1) << 50},
    {"1125899906842625", -1},
    {"-1", -1},
    {"1.5", -1},
    {"1e3", -1},
    {"\"7\"", -1},
    {"null", -1},
    {"[7]", -1},
    {"99999999999999999999999", -1},
};

START_TEST(figures_that_are_none)
{
    char data[128];
    snprintf(data, sizeof(data), "{\"model\":\"p/m\",\"usage\":{\"in\":%s}}", counts[_i].json);
    ck_assert_int_eq(facts_of(IK_MSG_ASSISTANT, NULL, data).usage.in, counts[_i].in);
    snprintf(data, sizeof(data), "{\"model\":\"p/m\",\"usage\":%s}", counts[_i].json);
    ck_assert_int_eq(facts_of(IK_MSG_ASSISTANT, NULL, data).usage.in, -1);
}
END_TEST

static const struct {
    const char *json;
    double cost;
} costs[] = {
    {"0", 0},      {"0.0125", 0.0125}, {"3", 3},      {"1e-3", 0.001}, {"-2", -1},
    {"\"1\"", -1}, {"null", -1},       {"1e999", -1}, {"{}", -1},
};

START_TEST(costs_that_are_none)
{
    char data[128];
    snprintf(data, sizeof(data), "{\"model\":\"p/m\",\"cost_usd\":%s}", costs[_i].json);
    ck_assert_double_eq(facts_of(IK_MSG_ASSISTANT, NULL, data).cost, costs[_i].cost);
}
END_TEST

/* --- titles ------------------------------------------------------------------------------ */

#define TEN "0123456789"
#define SEVENTY TEN TEN TEN TEN TEN TEN TEN
#define E_ACUTE "\xc3\xa9"
#define ELLIPSIS "\xe2\x80\xa6"
#define FFFD "\xef\xbf\xbd"

static const struct {
    const char *words;
    const char *title; /* NULL: none */
} titles[] = {
    {"Fix the test", "Fix the test"},
    {"Fix\nthe test", "Fix"},
    {"Fix\r\nthe test", "Fix"},
    {"Fix\rthe test", "Fix"},
    {" \t\n\r\n\n  Fix \t the\vtest  \nnow", "Fix the test"},
    {"\xc2\xa0\xe3\x80\x80\n a\xe2\x80\x83\x62\xe2\x80\xa8\x63", "a b c"},
    {"\033[31mred\033[0m \x07\x7f\xc2\x9b!", "[31mred[0m !"},
    {"\001\002\n\003x", "x"},
    {"a\001\002 \003 b", "a b"},
    {"Gr\xc3\xb6\xc3\x9f\x65 \xff?", "Gr\xc3\xb6\xc3\x9f\x65 " FFFD "?"},
    {"", NULL},
    {" \n\t\r\n\xc2\xa0\001", NULL},
    {NULL, NULL},
    {SEVENTY TEN, SEVENTY TEN},
    {SEVENTY TEN "  \nmore", SEVENTY TEN},
    {SEVENTY TEN "x", SEVENTY "012345678" ELLIPSIS},
    {SEVENTY TEN " x", SEVENTY "012345678" ELLIPSIS},
    {SEVENTY "01234567 9x", SEVENTY "01234567" ELLIPSIS},
    {SEVENTY "0123456789 1", SEVENTY "012345678" ELLIPSIS},
    {SEVENTY "01234567" E_ACUTE E_ACUTE, SEVENTY "01234567" E_ACUTE E_ACUTE},
    {SEVENTY "01234567" E_ACUTE E_ACUTE E_ACUTE, SEVENTY "01234567" E_ACUTE ELLIPSIS},
};

START_TEST(the_title_of_a_session)
{
    ik_event_facts_t facts =
        facts_of(IK_MSG_USER, titles[_i].words, "{\"model\":\"p/m\"," USAGE "}");
    ck_assert(facts.user && !facts.answer);
    ck_assert_ptr_null(facts.model);
    ck_assert_pstr_eq(facts.title, titles[_i].title);
}
END_TEST

START_TEST(strings_are_on_the_context)
{
    size_t blocks = talloc_total_blocks(ctx);
    facts_of(IK_MSG_USER, "words", NULL);
    facts_of(IK_MSG_ASSISTANT, NULL, "{\"model\":\"p/m\"}");
    ck_assert_uint_eq(talloc_total_blocks(ctx), blocks + 2);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

int main(void)
{
    Suite *suite = suite_create("event_facts");
    TCase *tests = tcase_create("event_facts");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, what_a_model_answered_to_a_tool);
    tcase_add_test(tests, an_answer_with_everything);
    tcase_add_test(tests, an_answer_as_it_is_made);
    tcase_add_test(tests, a_model_alone);
    tcase_add_test(tests, a_summary_is_an_answer);
    tcase_add_loop_test(tests, what_is_no_answer, 0, COUNT(unknown));
    tcase_add_loop_test(tests, figures_that_are_none, 0, COUNT(counts));
    tcase_add_loop_test(tests, costs_that_are_none, 0, COUNT(costs));
    tcase_add_loop_test(tests, the_title_of_a_session, 0, COUNT(titles));
    tcase_add_test(tests, strings_are_on_the_context);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

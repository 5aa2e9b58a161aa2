/* Questions of servers: a user who stops answering, at once or later, ends the form once. */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "mcp/mcp_elicitation.h"
#include "suite.h"

typedef struct {
    size_t at_once;  /* the number of the question that is answered before ask returns; 0: none */
    size_t asked;    /* questions so far */
    const char *now; /* that answer */
    ik_mcp_answer_fn on_answer;
    void *answer_data;
    char *result;
    size_t ends;
} user_t;

static void *ctx;

static void set_up(void)
{
    ctx = talloc_new(NULL);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static void *ask(void *data, const char *question, ik_mcp_answer_fn on_answer, void *answer_data)
{
    user_t *user = data;
    ck_assert_msg(strncmp(question, "s asks: Say", 11) == 0, "%s", question);
    if (++user->asked == user->at_once) {
        on_answer(answer_data, user->now);
        return NULL;
    }
    user->on_answer = on_answer;
    user->answer_data = answer_data;
    return talloc_new(ctx);
}

static void on_done(void *data, const char *result)
{
    user_t *user = data;
    user->result = ik_strdup(ctx, result);
    user->ends++;
}

static const char two_fields[] =
    "{\"message\":\"Say\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{"
    "\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"string\"}}}}";
static const char no_fields[] =
    "{\"message\":\"Say\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}";
static const char visit[] = "{\"message\":\"Say\",\"mode\":\"url\",\"url\":\"https://x.example\"}";

static void *begin(user_t *user, const ik_mcp_options_t *options, const char *params)
{
    return ik_mcp_elicit(ctx, options, "s", (ik_json_span_t){params, strlen(params)}, on_done,
                         user);
}

START_TEST(answers_come_later_or_at_once)
{
    static const struct {
        size_t at_once;
        const char *now;
        const char *result;
    } cases[] = {
        {0, NULL, "{\"action\":\"accept\",\"content\":{\"a\":\"x\",\"b\":\"x\"}}"},
        {1, "y", "{\"action\":\"accept\",\"content\":{\"a\":\"y\",\"b\":\"x\"}}"},
        {2, "y", "{\"action\":\"accept\",\"content\":{\"a\":\"x\",\"b\":\"y\"}}"},
        {1, NULL, "{\"action\":\"cancel\"}"},
        {2, NULL, "{\"action\":\"cancel\"}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        user_t user = {.at_once = cases[i].at_once, .now = cases[i].now};
        ik_mcp_options_t options = {.ask = ask, .data = &user};
        void *form = begin(&user, &options, two_fields);
        ck_assert_int_eq(form == NULL, user.ends == 1);
        while (user.ends == 0) {
            user.on_answer(user.answer_data, "x");
        }
        ck_assert_int_eq(user.ends, 1);
        ck_assert_str_eq(user.result, cases[i].result);
    }
}
END_TEST

/* The answer to a form has content, also if there is nothing to fill in; that to a visit has none.
 */
START_TEST(a_question_without_fields_is_yes_or_no)
{
    static const struct {
        const char *params;
        const char *answer;
        const char *result;
    } cases[] = {
        {no_fields, "y", "{\"action\":\"accept\",\"content\":{}}"},
        {no_fields, "n", "{\"action\":\"decline\"}"},
        {no_fields, "", "{\"action\":\"decline\"}"},
        {visit, "yes", "{\"action\":\"accept\"}"},
        {visit, NULL, "{\"action\":\"cancel\"}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        user_t user = {0};
        ik_mcp_options_t options = {.ask = ask, .data = &user};
        ck_assert_ptr_nonnull(begin(&user, &options, cases[i].params));
        user.on_answer(user.answer_data, cases[i].answer);
        ck_assert_int_eq(user.ends, 1);
        ck_assert_str_eq(user.result, cases[i].result);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mcp_elicitation");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, answers_come_later_or_at_once);
    tcase_add_test(tests, a_question_without_fields_is_yes_or_no);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "provider/model_list.h"
#include "suite.h"

static ik_config_provider_t provider;
static ik_model_list_t list;
static res_t result;
static void *ctx;

static void set_up(void)
{
    ctx = talloc_new(NULL);
    provider = (ik_config_provider_t){.name = "box",
                                      .type = IK_CONFIG_TYPE_OPENAI,
                                      .api = IK_CONFIG_API_CHAT,
                                      .base_url = "http://h/v1",
                                      .api_key = "sk-canary-1"};
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static void parse(const char *body)
{
    result = ik_model_list_parse(ctx, &provider, body, strlen(body), &list);
}

/* The names of the list, joined by blanks. */
static void assert_names(const char *body, const char *expected)
{
    char names[1000] = "";
    parse(body);
    ck_assert_msg(is_ok(&result), "%s", result.message);
    for (size_t i = 0; i < list.count; i++) {
        size_t len = strlen(names);
        snprintf(names + len, sizeof(names) - len, "%s%s", i == 0 ? "" : " ", list.entries[i].name);
    }
    ck_assert_str_eq(names, expected);
}

static void assert_request(int type, const char *url, const char *const *headers)
{
    provider.type = type;
    ck_assert_str_eq(ik_model_list_format_url(ctx, &provider), url);
    char **formatted = ik_model_list_format_headers(ctx, &provider);
    size_t i = 0;
    for (; headers[i] != NULL; i++) {
        ck_assert_pstr_eq(formatted[i], headers[i]);
    }
    ck_assert_ptr_null(formatted[i]);
}

START_TEST(every_vendor_has_its_own_request)
{
    assert_request(
        IK_CONFIG_TYPE_OPENAI, "http://h/v1/models",
        (const char *[]){"Authorization: Bearer sk-canary-1", "Accept: application/json", NULL});
    assert_request(IK_CONFIG_TYPE_ANTHROPIC, "http://h/v1/v1/models?limit=1000",
                   (const char *[]){"anthropic-version: 2023-06-01", "x-api-key: sk-canary-1",
                                    "Accept: application/json", NULL});
    assert_request(
        IK_CONFIG_TYPE_GOOGLE, "http://h/v1/v1beta/models?pageSize=1000",
        (const char *[]){"x-goog-api-key: sk-canary-1", "Accept: application/json", NULL});
    provider.api = IK_CONFIG_API_RESPONSES;
    provider.api_key = NULL;
    assert_request(IK_CONFIG_TYPE_OPENAI, "http://h/v1/models",
                   (const char *[]){"Accept: application/json", NULL});
    provider.base_url = "http://h/v1?api-version=2";
    assert_request(IK_CONFIG_TYPE_OPENAI, "http://h/v1/models?api-version=2",
                   (const char *[]){"Accept: application/json", NULL});
}
END_TEST

/* OpenRouter's plain list is public, so it says nothing about a key. */
START_TEST(the_list_of_openrouter_tests_the_key)
{
    provider.base_url = "https://openrouter.ai/api/v1";
    ck_assert_str_eq(ik_model_list_format_url(ctx, &provider),
                     "https://openrouter.ai/api/v1/models/user");
    provider.api_key = NULL;
    ck_assert_str_eq(ik_model_list_format_url(ctx, &provider),
                     "https://openrouter.ai/api/v1/models");
}
END_TEST

START_TEST(lists_of_all_vendors)
{
    assert_names("{\"object\":\"list\",\"data\":[{\"id\":\"b\"},{\"id\":\"a:7b\"},{\"id\":\"b\"}]}",
                 "b a:7b");
    assert_names("[{\"id\":\"org/x\"}]", "org/x");
    assert_names("{\"data\":[]}", "");
    assert_names("{\"object\":\"list\",\"data\":null}\n", ""); /* Ollama's */
    provider.type = IK_CONFIG_TYPE_GOOGLE;
    assert_names("{\"models\":[{\"name\":\"models/g-1\",\"supportedGenerationMethods\":"
                 "[\"countTokens\",\"generateContent\"]},{\"name\":\"models/embed\","
                 "\"supportedGenerationMethods\":[\"embedContent\"]}],\"nextPageToken\":\"x\"}",
                 "g-1");
}
END_TEST

START_TEST(figures_of_a_model)
{
    static const struct {
        const char *entry;
        long context;
    } cases[] = {
        {"\"context_length\":131072", 131072},
        {"\"max_model_len\":4096", 4096},
        {"\"context_window\":8192", 8192},
        {"\"max_context_length\":32000", 32000},
        {"\"max_input_tokens\":200000", 200000},
        {"\"inputTokenLimit\":1048576", 1048576},
        {"\"meta\":{\"n_ctx_train\":2048}", 2048},
        {"\"context_length\":null", 0},
        {"\"context_length\":-1", 0},
        {"\"context_length\":\"12\"", 0},
        {"\"context_length\":1e9", 0},
        {"\"context_length\":99999999999999999999", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char body[200];
        snprintf(body, sizeof(body), "{\"data\":[{\"id\":\"a\",%s}]}", cases[i].entry);
        parse(body);
        ck_assert_uint_eq(list.count, 1);
        ck_assert_msg(list.entries[0].context == cases[i].context, "%s", body);
        ck_assert(list.entries[0].input < 0 && list.entries[0].output < 0);
    }
    parse("{\"data\":[{\"id\":\"a\",\"pricing\":{\"prompt\":\"0.0000025\",\"completion\":\"0\"}},"
          "{\"id\":\"b\",\"pricing\":{\"prompt\":\"-1\",\"completion\":\"x\"}}]}");
    ck_assert_double_eq_tol(list.entries[0].input, 2.5, 1e-9);
    ck_assert_double_eq_tol(list.entries[0].output, 0, 1e-9);
    ck_assert(list.entries[1].input < 0 && list.entries[1].output < 0);
}
END_TEST

START_TEST(hostile_lists)
{
    static const char *const broken[] = {"",      "<html>", "{}",          "{\"data\":{}}",
                                         "\"a\"", "null",   "{\"data\":[", "{\"error\":\"x\"}"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        parse(broken[i]);
        ck_assert_msg(result.code == IK_ERR_INVALID, "%s", broken[i]);
        ck_assert_uint_eq(list.count, 0);
    }
    assert_names("{\"data\":[1,null,[],{},{\"id\":3},{\"id\":\"\"},{\"id\":\"a b\"},"
                 "{\"id\":\"a\\u001b[31m\"},{\"id\":\"a\\u0000b\"},{\"id\":\"\\u202eabc\"},"
                 "{\"id\":\"a\\u200bb\"},{\"id\":\"a\\ud800\"},{\"id\":\"\\u00e4\"},"
                 "{\"id\":\"x-sk-canary-1-y\"},{\"id\":\"good\"}]}",
                 "\xc3\xa4 good");
}
END_TEST

START_TEST(long_lists_and_names_are_cut)
{
    ik_buffer_t body;
    ik_buffer_init(&body, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&body, "{\"data\":[{\"id\":\"");
    for (int i = 0; i <= IK_MODEL_LIST_NAME_MAX; i++) {
        ik_buffer_append_byte(&body, 'a');
    }
    ik_buffer_append_text(&body, "\"}");
    for (int i = 0; i < IK_MODEL_LIST_MAX + 1000; i++) {
        ik_buffer_append_format(&body, ",{\"id\":\"m%d\"}", i);
    }
    ik_buffer_append_text(&body, "]}");
    parse(body.data);
    ck_assert(is_ok(&result));
    ck_assert_uint_eq(list.count, IK_MODEL_LIST_MAX);
    ck_assert_str_eq(list.entries[0].name, "m0");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model_list");
    TCase *tests = tcase_create("model_list");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, every_vendor_has_its_own_request);
    tcase_add_test(tests, the_list_of_openrouter_tests_the_key);
    tcase_add_test(tests, lists_of_all_vendors);
    tcase_add_test(tests, figures_of_a_model);
    tcase_add_test(tests, hostile_lists);
    tcase_add_test(tests, long_lists_and_names_are_cut);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

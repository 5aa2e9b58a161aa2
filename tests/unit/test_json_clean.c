#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_clean.h"
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

static ik_json_span_t scan(const char *text)
{
    ik_json_span_t value;
    ck_assert_msg(ik_json_scan(text, strlen(text), &value, NULL), "refused: %s", text);
    return value;
}

static char *cleaned(ik_json_span_t value)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    return ik_json_append_clean(&out, value) ? out.data : NULL;
}

START_TEST(what_is_clean_stays_as_it_is)
{
    static const char *const clean[] = {
        "null",
        "-1.50e+3",
        "\"\"",
        "\"a\\u00e9\\n\\\\ud800\"",
        "\"\\ud83d\\ude00\\uD83D\\uDE00\"",
        "\"\xf0\x9f\x98\x80\"",
        "[ 1 , [ ] , { } ]",
        "{ \"a\" : 1, \"b\": { \"a\" : 2 } , \"\" : 3 }",
        "{\"a\":1,\"aa\":2,\"A\":3}",
        "{\"\\u0000\":1,\"\\u0000a\":2}",
    };
    for (size_t i = 0; i < sizeof(clean) / sizeof(clean[0]); i++) {
        ck_assert_msg(ik_json_is_clean(scan(clean[i])), "%s", clean[i]);
        ck_assert_str_eq(cleaned(scan(clean[i])), clean[i]);
    }
}
END_TEST

#define FFFD "\xef\xbf\xbd"

static const char *const unclean[][2] = {
    /* half a surrogate pair: alone, twice, in the wrong order, before other escapes */
    {"\"\\ud800\"", "\"" FFFD "\""},
    {"\"\\udfff\"", "\"" FFFD "\""},
    {"\"\\uD83D\"", "\"" FFFD "\""},
    {"\"\\ude00\\ud83d\"", "\"" FFFD FFFD "\""},
    {"\"\\ud83d\\ud83d\\ude00\"", "\"" FFFD "\xf0\x9f\x98\x80\""},
    {"\"\\ud83d\\n\\ude00x\"", "\"" FFFD "\\n" FFFD "x\""},
    {"\"\\\\\\ud800\"", "\"\\\\" FFFD "\""},
    {"{\"\\ud800\":[\"\\ud800\"]}", "{\"" FFFD "\":[\"" FFFD "\"]}"},
    /* invalid UTF-8 */
    {"\"\xff\"", "\"" FFFD "\""},
    {"{\"\xc3\":1}", "{\"" FFFD "\":1}"},
    /* duplicate names: the last one counts, even if spelt differently, even in nested objects */
    {"{\"a\":1,\"a\":2}", "{\"a\":2}"},
    {"{\"a\":1,\"b\":2,\"a\":3,\"c\":4,\"a\":5}", "{\"b\":2,\"c\":4,\"a\":5}"},
    {"{\"a\":1,\"\\u0061\":2}", "{\"\\u0061\":2}"},
    {"{\"\xff\":1,\"\xfe\":2}", "{\"" FFFD "\":2}"},
    {"{\"\\ud800\":1,\"" FFFD "\":2}", "{\"" FFFD "\":2}"},
    {"[{\"x\":[{\"a\":1.0,\"a\":2}]}]", "[{\"x\":[{\"a\":2}]}]"},
};

START_TEST(what_is_not_is_cleaned)
{
    ik_json_span_t value = scan(unclean[_i][0]);
    ck_assert(!ik_json_is_clean(value));
    char *clean = cleaned(value);
    ck_assert_str_eq(clean, unclean[_i][1]);
    ck_assert(ik_json_is_clean(scan(clean)));
}
END_TEST

static char *nested(int levels, const char *open, const char *inner, const char *close)
{
    char *text = ik_strdup(ctx, inner);
    for (int i = 0; i < levels; i++) {
        text = ik_sprintf(ctx, "%s%s%s", open, text, close);
    }
    return text;
}

START_TEST(nesting_has_an_end)
{
    ck_assert(ik_json_is_clean(scan(nested(IK_JSON_CLEAN_DEPTH, "[", "1", "]"))));
    ck_assert(ik_json_is_clean(scan(nested(IK_JSON_CLEAN_DEPTH, "{\"a\":", "1", "}"))));
    for (int more = 1; more < 400; more += 57) {
        char *deep = nested(IK_JSON_CLEAN_DEPTH + more, "[", "1", "]");
        ck_assert(!ik_json_is_clean(scan(deep)));
        ck_assert_ptr_null(cleaned(scan(deep)));
    }
    ck_assert_ptr_null(
        cleaned(scan(nested(IK_JSON_CLEAN_DEPTH + 1, "{\"a\":", "\"\\ud800\"", "}"))));
}
END_TEST

START_TEST(many_members)
{
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    for (int i = 0; i < 100000; i++) {
        ik_buffer_append_format(&text, "%c\"%d\":%d", i == 0 ? '{' : ',', i, i);
    }
    ik_buffer_append_byte(&text, '}');
    ck_assert(ik_json_is_clean(scan(text.data)));
    text.len--;
    ik_buffer_append_text(&text, ",\"7\":0}");
    ck_assert(!ik_json_is_clean(scan(text.data)));
    char *clean = cleaned(scan(text.data));
    ck_assert_uint_eq(strlen(clean), text.len - strlen("\"7\":7,"));
}
END_TEST

static const char *const trees[][2] = {
    {"[1,-2.5,\"a\"]", "[1,-2.5,\"a\"]"},
    /* the nearest numbers that jansson can hold */
    {"[18446744073709551615,-18446744073709551615]", "[9223372036854775807,-9223372036854775808]"},
    {"[9223372036854775807,1e400,-1.5E+400]",
     "[9223372036854775807,1.7976931348623157e308,-1.7976931348623157e308]"},
    {"{\"18446744073709551616\":\"1e999\\\" 1e999\",\"n\":99999999999999999999}",
     "{\"18446744073709551616\":\"1e999\\\" 1e999\",\"n\":9223372036854775807}"},
    {"{\"\\ud83d\":\"a\\udc00b\"}", "{\"" FFFD "\":\"a" FFFD "b\"}"},
    {"[\"\\ud83d\",18446744073709551615]", "[\"" FFFD "\",9223372036854775807]"},
    {"[\"\xff\"]", "[\"" FFFD "\"]"},
};

START_TEST(trees_hold_as_much_as_they_can)
{
    ik_json_span_t value = scan(trees[_i][0]);
    json_t *tree = ik_json_parse_clean(value);
    ck_assert_ptr_nonnull(tree);
    char *text = ik_json_format(ctx, tree);
    ck_assert_str_eq(text, trees[_i][1]);
    json_decref(tree);
}
END_TEST

START_TEST(what_no_tree_can_hold)
{
    ck_assert_ptr_null(ik_json_parse_clean(scan("{\"\\u0000\":1e400}")));
    /* too deep to be cleaned; its numbers are still made to fit */
    ck_assert_ptr_null(
        ik_json_parse_clean(scan(nested(IK_JSON_CLEAN_DEPTH + 1, "[", "\"\\ud800\"", "]"))));
    json_t *deep = ik_json_parse_clean(
        scan(nested(IK_JSON_CLEAN_DEPTH + 1, "[", "18446744073709551615", "]")));
    ck_assert_ptr_nonnull(deep);
    json_decref(deep);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json_clean");
    TCase *tests = tcase_create("json_clean");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, what_is_clean_stays_as_it_is);
    tcase_add_loop_test(tests, what_is_not_is_cleaned, 0,
                        (int)(sizeof(unclean) / sizeof(unclean[0])));
    tcase_add_test(tests, nesting_has_an_end);
    tcase_add_test(tests, many_members);
    tcase_add_loop_test(tests, trees_hold_as_much_as_they_can, 0,
                        (int)(sizeof(trees) / sizeof(trees[0])));
    tcase_add_test(tests, what_no_tree_can_hold);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

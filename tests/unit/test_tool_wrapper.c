#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "suite.h"
#include "tool/tool_wrapper.h"

enum { PLENTY = 1048576 };

static void *ctx;

static void set_up(void)
{
    ctx = talloc_new(NULL);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static char *wrap_unfinished(const char *printed, size_t max_output)
{
    ik_buffer_t buffer;
    ik_buffer_init(&buffer, ctx, strlen(printed) + 10);
    ik_buffer_append(&buffer, printed, strlen(printed));
    ik_tool_failure_t failure = {.error = "timed out",
                                 .code = IK_TOOL_TIMEOUT,
                                 .exit_code = 143,
                                 .out = "",
                                 .err = "why",
                                 .err_len = 3};
    return ik_tool_wrap_take_unfinished(ctx, &buffer, &failure, max_output);
}

static char *wrap(const char *result, size_t max_output, const char *note)
{
    ik_json_span_t span;
    ck_assert_msg(ik_json_scan(result, strlen(result), &span, NULL), "not JSON: %s", result);
    return ik_tool_wrap_success(ctx, span, max_output, note);
}

static void assert_json(const char *text)
{
    ik_json_span_t span;
    ck_assert_msg(ik_json_scan(text, strlen(text), &span, NULL), "not JSON: %s", text);
    ck_assert_msg(ik_utf8_valid(text, strlen(text)), "not UTF-8: %s", text);
}

/* --- success ----------------------------------------------------------------------------- */

START_TEST(a_result_is_spliced_in_unchanged)
{
    static const struct {
        const char *result;
        const char *envelope;
    } cases[] = {
        {"{\"stdout\":\"\",\"stderr\":\"bash: foo: command not found\\n\",\"exit_code\":127}",
         "{\"tool_success\":true,\"result\":{\"stdout\":\"\",\"stderr\":\"bash: foo: command not "
         "found\\n\",\"exit_code\":127}}"},
        {"{\"output\": \"...\", \"exit_code\": 0}",
         "{\"tool_success\":true,\"result\":{\"output\": \"...\", \"exit_code\": 0}}"},
        {"\n {\"n\":12345678901234567890.10, \"z\":\"\\u0000\\/\"} \r\n",
         "{\"tool_success\":true,\"result\":{\"n\":12345678901234567890.10, "
         "\"z\":\"\\u0000\\/\"}}"},
        {"[1,2]", "{\"tool_success\":true,\"result\":[1,2]}"},
        {"\"text\"", "{\"tool_success\":true,\"result\":\"text\"}"},
        {"1e400", "{\"tool_success\":true,\"result\":1e400}"},
        {"null", "{\"tool_success\":true,\"result\":null}"},
        {"{\"error\":\"File not found\",\"error_code\":\"FILE_NOT_FOUND\"}",
         "{\"tool_success\":true,\"result\":{\"error\":\"File not found\",\"error_code\":"
         "\"FILE_NOT_FOUND\"}}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_str_eq(wrap(cases[i].result, PLENTY, NULL), cases[i].envelope);
    }
}
END_TEST

START_TEST(a_note_stands_beside_the_result)
{
    ck_assert_str_eq(wrap("{}", PLENTY, "2 background \"processes\" ended"),
                     "{\"tool_success\":true,\"result\":{},\"note\":\"2 background "
                     "\\\"processes\\\" ended\"}");
}
END_TEST

#define HUNDRED                                                                                    \
    "0123456789012345678901234567890123456789012345678901234567890123456789"                       \
    "012345678901234567890123456789"
#define THOUSAND HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED

START_TEST(long_results_are_cut)
{
    static const struct {
        const char *result;
        size_t max;
        const char *envelope;
    } cases[] = {
        /* output is cut and followed by the flags */
        {"{\"output\":\"0123456789\",\"count\":10}", 24,
         "{\"tool_success\":true,\"result\":{\"output\":\"0123456789\",\"count\":10}}"},
        {"{\"output\":\"0123456789012345678901234\",\"count\":25}", 23,
         "{\"tool_success\":true,\"result\":{\"output\":\"01234567890123456789012\",\"truncated\":"
         "true,\"total_bytes\":25,\"count\":25}}"},
        /* flags of the tool itself are dropped */
        {"{\"truncated\":false,\"output\":\""
         "0123456789012345678901234567890123456789"
         "0123456789012345678901234567890123456789\",\"total_bytes\":1}",
         60,
         "{\"tool_success\":true,\"result\":{\"output\":\"0123456789012345678901234567890123456789"
         "01234567890123456789\",\"truncated\":true,\"total_bytes\":80}}"},
        /* not inside a character */
        {"{\"output\":\"aaaaaaaaaaaaaaaaaaaa\xc3\xa4\"}", 21,
         "{\"tool_success\":true,\"result\":{\"output\":\"aaaaaaaaaaaaaaaaaaaa\",\"truncated\":"
         "true,\"total_bytes\":22}}"},
        /* bytes of text count, not of escapes */
        {"{\"output\":\"\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\"}", 20,
         "{\"tool_success\":true,\"result\":{\"output\":\"\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\"}}"},
        /* other shapes become their text */
        {"[1,2,3,4,5,6,7,8]", 5,
         "{\"tool_success\":true,\"result\":\"[1,2,\",\"truncated\":true,\"total_bytes\":17}"},
        {"\"0123456789\"", 4,
         "{\"tool_success\":true,\"result\":\"\\\"012\",\"truncated\":true,\"total_bytes\":12}"},
        {"{\"output\":[1,2,3,4,5,6,7]}", 8,
         "{\"tool_success\":true,\"result\":\"{\\\"output\",\"truncated\":true,\"total_bytes\":"
         "26}"},
        {"{\"lines\":\"0123456789\"}", 9,
         "{\"tool_success\":true,\"result\":\"{\\\"lines\\\":\",\"truncated\":true,"
         "\"total_bytes\":22}"},
        /* short members stay, however small the limit is */
        {"{\"output\":\"ab\",\"exit_code\":3,\"truncated\":true,\"total_bytes\":9}", 2,
         "{\"tool_success\":true,\"result\":{\"output\":\"ab\",\"exit_code\":3,\"truncated\":true,"
         "\"total_bytes\":9}}"},
        {"{\"output\":\"abc\",\"exit_code\":3}", 2,
         "{\"tool_success\":true,\"result\":{\"output\":\"ab\",\"truncated\":true,"
         "\"total_bytes\":3,\"exit_code\":3}}"},
        /* the bulk is not in output */
        {"{\"output\":\"ab\",\"rest\":\"" THOUSAND THOUSAND "\"}", 10,
         "{\"tool_success\":true,\"result\":\"{\\\"output\\\":\",\"truncated\":true,"
         "\"total_bytes\":2025}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *envelope = wrap(cases[i].result, cases[i].max, NULL);
        assert_json(envelope);
        ck_assert_str_eq(envelope, cases[i].envelope);
    }
}
END_TEST

START_TEST(every_cut_is_valid)
{
    static const char result[] =
        "{\"a\":1,\"output\":\"x\\u00e4\xc3\xa4\\ud83d\\ude00\xf0\x9f\x98\x80\\n\\\"\\u0000end "
        "of the text\",\"b\":[\"\\u00ff\"]}";
    for (size_t max = 1; max < sizeof(result) + 2; max++) {
        char *envelope = wrap(result, max, NULL);
        assert_json(envelope);
        ck_assert_uint_le(strlen(envelope), 6 * max + 200);
    }
}
END_TEST

START_TEST(bytes_that_are_not_utf8_are_replaced)
{
    assert_json(wrap("{\"output\":\"a\xff\xc3\"}", PLENTY, NULL));
    ck_assert_str_eq(wrap("{\"output\":\"a\xff\"}", PLENTY, NULL),
                     "{\"tool_success\":true,\"result\":{\"output\":\"a\xef\xbf\xbd\"}}");
}
END_TEST

/* --- failure ----------------------------------------------------------------------------- */

#define UNFINISHED                                                                                 \
    "{\"tool_success\":false,\"error\":\"timed out\",\"error_code\":\"TOOL_TIMEOUT\","             \
    "\"exit_code\":143,\"stdout\":"

START_TEST(what_an_ended_tool_printed)
{
    static const struct {
        const char *printed;
        size_t max;
        const char *envelope;
    } cases[] = {
        {"", PLENTY, UNFINISHED "\"\",\"stderr\":\"why\"}"},
        {"half of {", PLENTY, UNFINISHED "\"half of {\",\"stderr\":\"why\"}"},
        {"{\"output\":1}", PLENTY, UNFINISHED "\"{\\\"output\\\":1}\",\"stderr\":\"why\"}"},
        /* the text itself, its escapes unchanged */
        {"{\"output\":\"\"}", PLENTY, UNFINISHED "\"\",\"stderr\":\"why\"}"},
        {" {\"exit_code\":1,\"output\":\"a\\n\\u0001\\\"\"}\n", PLENTY,
         UNFINISHED "\"a\\n\\u0001\\\"\",\"stderr\":\"why\"}"},
        {"{\"output\":\"a\xff\"}", PLENTY, UNFINISHED "\"a\xef\xbf\xbd\",\"stderr\":\"why\"}"},
        /* cut by the tool, or here */
        {"{\"output\":\"ab\",\"truncated\":true,\"total_bytes\":70}", PLENTY,
         UNFINISHED "\"ab\",\"stderr\":\"why\",\"truncated\":true,\"total_bytes\":73}"},
        {"{\"output\":\"ab\",\"truncated\":false,\"total_bytes\":2}", PLENTY,
         UNFINISHED "\"ab\",\"stderr\":\"why\"}"},
        {"{\"output\":\"abcde\\n\"}", 4,
         UNFINISHED "\"abcd\",\"stderr\":\"why\",\"truncated\":true,\"total_bytes\":9}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *envelope = wrap_unfinished(cases[i].printed, cases[i].max);
        assert_json(envelope);
        ck_assert_str_eq(envelope, cases[i].envelope);
    }
}
END_TEST

START_TEST(failures)
{
    static const struct {
        ik_tool_failure_t failure;
        const char *envelope;
    } cases[] = {
        {{.error = "Tool 'bash' crashed with exit code 139",
          .code = IK_TOOL_CRASHED,
          .exit_code = 139,
          .out = "",
          .err = "Segmentation fault\n",
          .err_len = 19},
         "{\"tool_success\":false,\"error\":\"Tool 'bash' crashed with exit code 139\","
         "\"error_code\":\"TOOL_CRASHED\",\"exit_code\":139,\"stdout\":\"\",\"stderr\":"
         "\"Segmentation fault\\n\"}"},
        {{.error = "Tool 'x' timed out after 30 seconds",
          .code = IK_TOOL_TIMEOUT,
          .exit_code = -1,
          .out = "half",
          .out_len = 4,
          .err = ""},
         "{\"tool_success\":false,\"error\":\"Tool 'x' timed out after 30 seconds\","
         "\"error_code\":\"TOOL_TIMEOUT\",\"exit_code\":null,\"stdout\":\"half\",\"stderr\":\"\"}"},
        {{.error = "Tool 'x' returned malformed JSON",
          .code = IK_TOOL_INVALID_OUTPUT,
          .exit_code = 0,
          .out = "a\xff\x00\x1b\"",
          .out_len = 5,
          .err = ""},
         "{\"tool_success\":false,\"error\":\"Tool 'x' returned malformed JSON\",\"error_code\":"
         "\"INVALID_OUTPUT\",\"exit_code\":0,\"stdout\":\"a\xef\xbf\xbd\\u0000\\u001b\\\"\","
         "\"stderr\":\"\"}"},
        {{.error = "Tool 'x' not found",
          .code = IK_TOOL_NOT_FOUND,
          .exit_code = -1,
          .out = "",
          .err = ""},
         "{\"tool_success\":false,\"error\":\"Tool 'x' not found\",\"error_code\":"
         "\"TOOL_NOT_FOUND\",\"exit_code\":null,\"stdout\":\"\",\"stderr\":\"\"}"},
        {{.error = "Arguments of tool 'x' are not a JSON object",
          .code = IK_TOOL_INVALID_PARAMS,
          .exit_code = -1,
          .out = "",
          .err = "",
          .note = "Stopped 1 background process"},
         "{\"tool_success\":false,\"error\":\"Arguments of tool 'x' are not a JSON object\","
         "\"error_code\":\"INVALID_PARAMS\",\"exit_code\":null,\"stdout\":\"\",\"stderr\":\"\","
         "\"note\":\"Stopped 1 background process\"}"},
        {{.error = "Tool 'x' was interrupted",
          .code = IK_TOOL_INTERRUPTED,
          .exit_code = 143,
          .out = "",
          .err = ""},
         "{\"tool_success\":false,\"error\":\"Tool 'x' was interrupted\",\"error_code\":"
         "\"INTERRUPTED\",\"exit_code\":143,\"stdout\":\"\",\"stderr\":\"\"}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *envelope = ik_tool_wrap_failure(ctx, &cases[i].failure, PLENTY);
        assert_json(envelope);
        ck_assert_str_eq(envelope, cases[i].envelope);
    }
}
END_TEST

START_TEST(what_a_failed_tool_printed_is_shortened)
{
    ik_tool_failure_t failure = {.error = "e",
                                 .code = IK_TOOL_CRASHED,
                                 .exit_code = 1,
                                 .out = "0123456789\xc3\xa4",
                                 .out_len = 12,
                                 .err = "abc",
                                 .err_len = 3};
    ck_assert_str_eq(ik_tool_wrap_failure(ctx, &failure, 11),
                     "{\"tool_success\":false,\"error\":\"e\",\"error_code\":\"TOOL_CRASHED\","
                     "\"exit_code\":1,\"stdout\":\"0123456789\",\"stderr\":\"abc\",\"truncated\":"
                     "true,\"total_bytes\":15}");
    size_t len = IK_TOOL_WRAP_SHOWN + 10;
    char *much = ik_new_array(ctx, char, len);
    memset(much, 'x', len);
    failure.err = much;
    failure.err_len = len;
    char *envelope = ik_tool_wrap_failure(ctx, &failure, PLENTY);
    assert_json(envelope);
    ck_assert_uint_lt(strlen(envelope), IK_TOOL_WRAP_SHOWN + 300);
    ck_assert_ptr_nonnull(strstr(envelope, "\"truncated\":true,\"total_bytes\":65558}"));
}
END_TEST

/* --- limits and descriptions ------------------------------------------------------------- */

START_TEST(the_limit_is_told)
{
    static const struct {
        const char *envelope;
        long turns;
        const char *told;
    } cases[] = {
        {"{\"tool_success\":true,\"result\":{\"output\":\"...\",\"count\":1}}", 3,
         "{\"tool_success\":true,\"result\":{\"output\":\"...\",\"count\":1,\"limit_reached\":true,"
         "\"limit_message\":\"Tool call limit reached (3). Stopping tool loop.\"}}"},
        {"{\"tool_success\":true,\"result\":{}}", 50,
         "{\"tool_success\":true,\"result\":{\"limit_reached\":true,\"limit_message\":\"Tool call "
         "limit reached (50). Stopping tool loop.\"}}"},
        {"{\"tool_success\":true,\"result\":[1],\"note\":\"n\"}", 1,
         "{\"tool_success\":true,\"result\":[1],\"note\":\"n\",\"limit_reached\":true,"
         "\"limit_message\":\"Tool call limit reached (1). Stopping tool loop.\"}"},
        {"{\"tool_success\":false,\"error\":\"e\"}", 2,
         "{\"tool_success\":false,\"error\":\"e\",\"limit_reached\":true,\"limit_message\":\"Tool "
         "call limit reached (2). Stopping tool loop.\"}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_str_eq(ik_tool_wrap_add_limit(ctx, cases[i].envelope, cases[i].turns),
                         cases[i].told);
    }
}
END_TEST

START_TEST(the_limits_of_a_failed_call_are_told)
{
    static const struct {
        const char *envelope;
        bool failed;
    } cases[] = {
        {"{\"tool_success\":false,\"error\":\"e\"}", true},
        {"{\"tool_success\":true,\"result\":{\"error\":\"e\"}}", true},
        {"{\"tool_success\":true,\"result\":{\"error\":{}}}", true},
        {"{\"tool_success\":true,\"result\":{\"error\":null}}", false},
        {"{\"tool_success\":true,\"result\":{\"exit_code\":1}}", true},
        {"{\"tool_success\":true,\"result\":{\"exit_code\":-1}}", true},
        {"{\"tool_success\":true,\"result\":{\"exit_code\":0}}", false},
        {"{\"tool_success\":true,\"result\":{\"exit_code\":0.0}}", false},
        {"{\"tool_success\":true,\"result\":{\"exit_code\":\"1\"}}", false},
        {"{\"tool_success\":true,\"result\":{\"output\":\"error\"}}", false},
        {"{\"tool_success\":true,\"result\":\"error\"}", false},
        {"{\"tool_success\":true,\"result\":[{\"error\":\"e\"}]}", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *told =
            ik_tool_wrap_add_confined(ctx, ik_strdup(ctx, cases[i].envelope), "no \"network\"");
        char *expected = cases[i].failed
                             ? ik_sprintf(ctx, "%.*s,\"confined\":\"no \\\"network\\\"\"}",
                                          (int)strlen(cases[i].envelope) - 1, cases[i].envelope)
                             : ik_strdup(ctx, cases[i].envelope);
        ck_assert_str_eq(told, expected);
    }
}
END_TEST

START_TEST(notes_are_joined)
{
    char *once = ik_tool_wrap_add_note(
        ctx, ik_strdup(ctx, "{\"tool_success\":true,\"result\":{\"note\":\"own\"}}"), "a \"b\"");
    ck_assert_str_eq(once, "{\"tool_success\":true,\"result\":{\"note\":\"own\"},\"note\":"
                           "\"a \\\"b\\\"\"}");
    ck_assert_str_eq(ik_tool_wrap_add_note(ctx, once, "c"),
                     "{\"tool_success\":true,\"result\":{\"note\":\"own\"},\"note\":"
                     "\"a \\\"b\\\". c\"}");
}
END_TEST

#define TOLD_BEFORE                                                                                \
    "{\"type\":\"object\",\"properties\":{\"tool_success\":{\"type\":\"boolean\",\"description\":" \
    "\"True if tool executed, false if ikigai error (timeout/crash)\"},\"result\":{"
#define TOLD_AFTER                                                                                 \
    "},\"error\":{\"type\":\"string\",\"description\":\"Present only when tool_success is "        \
    "false\"},\"error_code\":{\"type\":\"string\",\"description\":\"Machine-readable error code "  \
    "when tool_success is false\"}},\"required\":[\"tool_success\"]}"

START_TEST(returns_are_advertised_inside_the_envelope)
{
    static const struct {
        const char *returns;
        const char *result;
    } cases[] = {
        {NULL, "\"description\":\"Present only when tool_success is true\""},
        {"{}", "\"description\":\"Present only when tool_success is true\""},
        {"{\"stdout\":{\"type\":\"string\"},\"exit_code\":{\"type\":\"integer\"}}",
         "\"description\":\"Present only when tool_success is true\",\"type\":\"object\","
         "\"properties\":{\"stdout\":{\"type\":\"string\"},\"exit_code\":{\"type\":\"integer\"}}"},
        {"{\"type\":\"object\",\"properties\":{\"a\":{}}}",
         "\"description\":\"Present only when tool_success is true\",\"type\":\"object\","
         "\"properties\":{\"a\":{}}"},
        {"{\"type\":{\"type\":\"string\"}}",
         "\"description\":\"Present only when tool_success is true\",\"type\":\"object\","
         "\"properties\":{\"type\":{\"type\":\"string\"}}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *text = cases[i].returns;
        json_t *returns = text == NULL ? NULL : ik_json_parse(text, strlen(text), NULL);
        json_t *envelope = ik_tool_wrap_returns(returns);
        ck_assert_str_eq(ik_json_format(ctx, envelope),
                         ik_sprintf(ctx, "%s%s%s", TOLD_BEFORE, cases[i].result, TOLD_AFTER));
        if (text != NULL) {
            ck_assert_str_eq(ik_json_format(ctx, returns), text);
        }
        json_decref(envelope);
        json_decref(returns);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tool_wrapper");
    TCase *tests = tcase_create("tool_wrapper");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_result_is_spliced_in_unchanged);
    tcase_add_test(tests, a_note_stands_beside_the_result);
    tcase_add_test(tests, long_results_are_cut);
    tcase_add_test(tests, every_cut_is_valid);
    tcase_add_test(tests, bytes_that_are_not_utf8_are_replaced);
    tcase_add_test(tests, what_an_ended_tool_printed);
    tcase_add_test(tests, failures);
    tcase_add_test(tests, what_a_failed_tool_printed_is_shortened);
    tcase_add_test(tests, the_limit_is_told);
    tcase_add_test(tests, the_limits_of_a_failed_call_are_told);
    tcase_add_test(tests, notes_are_joined);
    tcase_add_test(tests, returns_are_advertised_inside_the_envelope);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

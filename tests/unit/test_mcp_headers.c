/* Which parts of a message are repeated in headers, and how a value is written in one. */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "mcp/mcp_headers.h"
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

static char schema[] = "{\"name\":\"s__t\",\"parameters\":{\"type\":\"object\",\"properties\":{"
                       "\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"},"
                       "\"n\":{\"type\":\"integer\",\"x-mcp-header\":\"N\"},"
                       "\"b\":{\"type\":\"boolean\",\"x-mcp-header\":\"B\"},"
                       "\"plain\":{\"type\":\"string\"},"
                       "\"in\":{\"type\":\"object\",\"properties\":{"
                       "\"x\":{\"type\":\"string\",\"x-mcp-header\":\"In-X\"}}}}}}";

/* The headers of a call with these arguments behind its method and name, each on a line. */
static const char *headers_of(const char *name, const char *arguments)
{
    ik_mcp_tool_t tool = {.tool = (char[]){"t"}, .schema = schema};
    ik_mcp_tools_t tools = {.list = &tool, .count = 1};
    char *message = ik_sprintf(ctx,
                               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
                               "{\"name\":%s,\"arguments\":%s}}",
                               name, arguments);
    const char *const *list = ik_mcp_headers_create(ctx, &tools, message, strlen(message));
    ck_assert_str_eq(list[0], "Mcp-Method: tools/call");
    char *lines = ik_strdup(ctx, "");
    for (size_t i = 1; list[i] != NULL; i++) {
        lines = ik_sprintf(ctx, "%s%s%s", lines, i == 1 ? "" : "\n", list[i]);
    }
    return lines;
}

START_TEST(a_call_repeats_marked_arguments)
{
    static const struct {
        const char *arguments;
        const char *headers; /* after Mcp-Name */
    } cases[] = {
        {"{}", ""},
        {"{\"a\":\"plain text\",\"plain\":\"x\"}", "\nMcp-Param-A: plain text"},
        {"{\"a\":\"~!\\\"#:;,\"}", "\nMcp-Param-A: ~!\"#:;,"},
        /* Not plain ASCII, padded, empty, or like the mark of an encoded value. */
        {"{\"a\":\"\xc3\xbc\"}", "\nMcp-Param-A: =?base64?w7w=?="},
        {"{\"a\":\" x\"}", "\nMcp-Param-A: =?base64?IHg=?="},
        {"{\"a\":\"x \"}", "\nMcp-Param-A: =?base64?eCA=?="},
        {"{\"a\":\"\"}", "\nMcp-Param-A: =?base64?\?="},
        {"{\"a\":\"x\\r\\ny\"}", "\nMcp-Param-A: =?base64?eA0KeQ==?="},
        {"{\"a\":\"\\u0000\"}", "\nMcp-Param-A: =?base64?AA==?="},
        {"{\"a\":\"\\t\"}", "\nMcp-Param-A: =?base64?CQ==?="},
        {"{\"a\":\"\\u007f\"}", "\nMcp-Param-A: =?base64?fw==?="},
        {"{\"a\":\"=?base64?eA==?=\"}", "\nMcp-Param-A: =?base64?PT9iYXNlNjQ/ZUE9PT89?="},
        {"{\"n\":-12,\"b\":false}", "\nMcp-Param-N: -12\nMcp-Param-B: false"},
        {"{\"a\":null,\"n\":1.5,\"b\":[]}", ""},
        {"{\"in\":{\"x\":\"deep\",\"a\":\"other\"}}", "\nMcp-Param-In-X: deep"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_str_eq(headers_of("\"t\"", cases[i].arguments),
                         ik_sprintf(ctx, "Mcp-Name: t%s", cases[i].headers));
    }
    /* Of another tool, arguments are not repeated. */
    ck_assert_str_eq(headers_of("\"\xe2\x82\xac\"", "{\"a\":\"x\"}"), "Mcp-Name: =?base64?4oKs?=");
}
END_TEST

START_TEST(other_messages_have_their_method)
{
    static const char *const cases[][2] = {
        {"{\"method\":\"tools/list\",\"params\":{\"name\":\"x\"}}", "Mcp-Method: tools/list"},
        {"{\"method\":\"tools/call\"}", "Mcp-Method: tools/call"},
        {"{\"id\":1,\"result\":{}}", NULL},
        {"no json", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const *list =
            ik_mcp_headers_create(ctx, NULL, cases[i][0], strlen(cases[i][0]));
        if (cases[i][1] == NULL) {
            ck_assert_ptr_null(list[0]);
        } else {
            ck_assert_str_eq(list[0], cases[i][1]);
            ck_assert_ptr_null(list[1]);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mcp_headers");
    TCase *tests = tcase_create("mcp_headers");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_call_repeats_marked_arguments);
    tcase_add_test(tests, other_messages_have_their_method);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

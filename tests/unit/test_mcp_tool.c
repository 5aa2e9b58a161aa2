/* Tools as a server lists them. */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "mcp/mcp_tool.h"
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

/* Adds a tool with a description of that many bytes. */
static void add_large(ik_mcp_tools_t *tools, const char *name, size_t len)
{
    char *text = ik_alloc_array(ctx, 1, len + 1, "description");
    memset(text, 'x', len);
    json_t *tool = json_pack("{s:s, s:s}", "name", name, "description", text);
    ik_mcp_tools_add(tools, "s", tool);
    json_decref(tool);
    talloc_free(text);
}

START_TEST(what_is_kept_is_bounded)
{
    ik_mcp_tools_t *tools = ik_mcp_tools_create(ctx);
    add_large(tools, "fat", IK_MCP_TOOL_SCHEMA_BYTES);
    ck_assert_uint_eq(tools->count, 0);
    ck_assert_str_eq(tools->problem, "a tool that is described with more than 1 MB is left out");
    tools = ik_mcp_tools_create(ctx);
    add_large(tools, "first", 1000);
    ck_assert_uint_gt(tools->bytes, 1000);
    ck_assert_uint_lt(tools->bytes, 1200);
    tools->bytes = IK_MCP_TOOLS_BYTES - 2000;
    add_large(tools, "second", 1000);
    add_large(tools, "third", 1000);
    add_large(tools, "small", 100);
    ck_assert_uint_eq(tools->count, 3);
    ck_assert_str_eq(tools->list[2].tool, "small");
    ck_assert_str_eq(tools->problem,
                     "its tools are described with more than 8 MB; some are left out");
}
END_TEST

START_TEST(each_other_character_becomes_one_underscore)
{
    static const char *const cases[][2] = {
        {"a-b.c d", "s_1__a_b_c_d"},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80!", "s_1______"},
        {"na\xc3\xafve", "s_1__na_ve"},
        {"", "s_1__"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_str_eq(ik_mcp_tool_name(ctx, "s-1", cases[i][0]), cases[i][1]);
    }
    ck_assert_str_eq(ik_mcp_tool_name(ctx, "1", "t"), "_1__t");
}
END_TEST

START_TEST(what_is_no_schema_is_dropped)
{
    static const struct {
        const char *input;
        const char *properties;
    } cases[] = {
        {"7", "{}"},
        {"{\"properties\":[]}", "{}"},
        {"{\"properties\":\"x\"}", "{}"},
        {"{\"properties\":{\"a\":\"x\",\"b\":true}}", "{\"b\":true}"},
        {"{\"properties\":{\"a\":{\"properties\":[1]}}}", "{\"a\":{}}"},
        {"{\"properties\":{\"a\":{\"items\":[{\"properties\":7}]}}}", "{\"a\":{\"items\":[{}]}}"},
        {"{\"properties\":{\"properties\":{\"type\":\"object\"}}}",
         "{\"properties\":{\"type\":\"object\"}}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ik_mcp_tools_t *tools = ik_mcp_tools_create(ctx);
        json_t *tool = json_pack("{s:s, s:o}", "name", "t", "inputSchema",
                                 ik_json_parse(cases[i].input, strlen(cases[i].input), NULL));
        ik_mcp_tools_add(tools, "s", tool);
        json_decref(tool);
        ck_assert_uint_eq(tools->count, 1);
        json_t *schema = ik_json_parse(tools->list[0].schema, strlen(tools->list[0].schema), NULL);
        json_t *parameters = json_object_get(schema, "parameters");
        ck_assert_str_eq(ik_json_format(ctx, json_object_get(parameters, "properties")),
                         cases[i].properties);
        json_decref(schema);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mcp_tool");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, what_is_kept_is_bounded);
    tcase_add_test(tests, each_other_character_becomes_one_underscore);
    tcase_add_test(tests, what_is_no_schema_is_dropped);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

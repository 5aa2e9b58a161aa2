#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "suite.h"
#include "tool/tool_describe.h"

static ik_tool_registry_t *registry;

static void set_up(void)
{
    registry = ik_tool_registry_create(NULL);
}

static void tear_down(void)
{
    talloc_free(registry);
}

static const ik_tool_registry_entry_t *add(const char *path, const char *origin,
                                           ik_tool_source_t source, const char *text)
{
    ik_tool_schema_t *schema;
    res_t parsed = ik_tool_schema_parse(NULL, text, strlen(text), &schema);
    ck_assert_msg(is_ok(&parsed), "%s", parsed.message);
    const char *name = schema->name;
    res_t added = ik_tool_registry_add(registry, path, origin, source, true, schema);
    ck_assert(is_ok(&added));
    return ik_tool_registry_lookup(registry, name);
}

START_TEST(a_list)
{
    add("/s/grep", "/s/grep", IK_TOOL_SYSTEM, "{\"name\":\"grep\",\"description\":\"Search\"}");
    add("/s/file-read", "/s/file-read", IK_TOOL_SYSTEM,
        "{\"name\":\"file-read\",\"description\":\"Read\\na\\tfile\\r\"}");
    add("/u/mine", "/u/mine", IK_TOOL_USER, "{\"name\":\"mine\",\"description\":\"Mine\"}");
    add("/p/theirs", "/p/theirs", IK_TOOL_PROJECT, "{\"name\":\"theirs\"}");
    ck_assert_str_eq(ik_tool_describe_list(registry, registry), "Available tools:\n"
                                                                "  file_read  Read a file \n"
                                                                "  grep       Search\n"
                                                                "  mine       Mine (user)\n"
                                                                "  theirs     theirs (project)\n");
}
END_TEST

START_TEST(no_tools)
{
    ck_assert_str_eq(ik_tool_describe_list(registry, registry), "Available tools:\n");
    json_t *list = ik_tool_describe_list_json(registry);
    ck_assert_str_eq(ik_json_format(registry, list), "[]");
    json_decref(list);
}
END_TEST

START_TEST(one_tool)
{
    add("/s/t", "/s/t", IK_TOOL_SYSTEM, "{\"name\":\"t\"}");
    const ik_tool_registry_entry_t *entry = add(
        "/copy/t", "/p/t", IK_TOOL_PROJECT,
        "{\"name\":\"t\",\"description\":\"Do\\nit\",\"parameters\":{\"path\":{\"type\":\"string\","
        "\"description\":\"Where\\nto\",\"required\":true},\"n\":{\"type\":[\"integer\",\"null\"]},"
        "\"any\":{},\"odd.name\":{\"type\":[\"number\"]}}}");
    char *text = ik_tool_describe_entry(registry, entry);
    static const char beginning[] = "t - Do it\n\nParameters:\n"
                                    "  path (string, required)\n    Where to\n"
                                    "  n (integer|null)\n  any (any)\n  odd.name (number)\n"
                                    "\nReturns:\n  {\n    \"tool_success\": {\n";
    static const char ending[] = "  }\n\nEffects: write project, network no\nFile: /p/t\n"
                                 "Source: project\nRuns from: /copy/t\nOverrides: /s/t\n";
    ck_assert_msg(strncmp(text, beginning, strlen(beginning)) == 0, "%s", text);
    ck_assert_msg(strcmp(text + strlen(text) - strlen(ending), ending) == 0, "%s", text);
}
END_TEST

START_TEST(boolean_properties_and_no_parameters)
{
    const ik_tool_registry_entry_t *entry =
        add("/t", "/t", IK_TOOL_USER,
            "{\"name\":\"t\",\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":true},"
            "\"required\":[\"a\",\"missing\"]}}");
    char *text = ik_tool_describe_entry(registry, entry);
    ck_assert_ptr_nonnull(strstr(text, "Parameters:\n  a (any, required)\n\nReturns:"));
    ck_assert_ptr_null(strstr(text, "Runs from"));
    ck_assert_ptr_null(strstr(text, "Overrides"));
    ck_assert_ptr_nonnull(strstr(text, "\nEffects: not declared, runs unconfined\n"));
    entry = add("/u", "/u", IK_TOOL_USER, "{\"name\":\"u\"}");
    text = ik_tool_describe_entry(registry, entry);
    ck_assert_ptr_nonnull(strstr(text, "u - u\n\nParameters:\n  none\n\nReturns:"));
}
END_TEST

START_TEST(as_json)
{
    add("/s/t", "/s/t", IK_TOOL_SYSTEM, "{\"name\":\"t\"}");
    add("/copy/t", "/p/t\xff", IK_TOOL_PROJECT, "{\"name\":\"t\",\"description\":\"\\u001b[1m\"}");
    json_t *list = ik_tool_describe_list_json(registry);
    ck_assert_str_eq(ik_json_format(registry, list),
                     "[{\"name\":\"t\",\"path\":\"/p/t\xef\xbf\xbd\",\"source\":\"project\","
                     "\"description\":\"\\u001B[1m\",\"cached\":true,\"overrides\":\"/s/t\","
                     "\"effects\":{\"write\":\"project\",\"network\":false}}]");
    json_decref(list);
}
END_TEST

START_TEST(paths_as_json)
{
    static const struct {
        const char *path;
        const char *json;
    } cases[] = {
        {NULL, "[null]"}, {"", "[\"\"]"}, {"/a", "[\"/a\"]"}, {"\xc3", "[\"\xef\xbf\xbd\"]"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *list = json_pack("[o]", ik_tool_describe_path_json(cases[i].path));
        ck_assert_str_eq(ik_json_format(registry, list), cases[i].json);
        json_decref(list);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tool_describe");
    TCase *tests = tcase_create("tool_describe");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_list);
    tcase_add_test(tests, no_tools);
    tcase_add_test(tests, one_tool);
    tcase_add_test(tests, boolean_properties_and_no_parameters);
    tcase_add_test(tests, as_json);
    tcase_add_test(tests, paths_as_json);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

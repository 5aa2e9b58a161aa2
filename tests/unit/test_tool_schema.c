#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "suite.h"
#include "tool/tool_schema.h"

static void *ctx;

static void set_up(void)
{
    ctx = talloc_new(NULL);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static ik_tool_schema_t *parse(const char *text)
{
    ik_tool_schema_t *schema = NULL;
    res_t parsed = ik_tool_schema_parse(ctx, text, strlen(text), &schema);
    ck_assert_msg(is_ok(&parsed), "refused: %s: %s", text, parsed.message);
    return schema;
}

static void assert_json(json_t *value, const char *expected)
{
    char *text = ik_json_format(ctx, value);
    ck_assert_str_eq(text, expected);
}

START_TEST(the_example_of_the_protocol)
{
    ik_tool_schema_t *schema =
        parse("{\"name\": \"tool_name\",\"description\": \"Brief description of what this tool "
              "does\",\"parameters\": {\"param1\": {\"type\": \"string\",\"description\": "
              "\"Parameter description\",\"required\": true}},\"returns\": {\"type\": "
              "\"object\",\"properties\": {\"field1\": {\"type\": \"string\"}}}}");
    ck_assert_str_eq(schema->name, "tool_name");
    ck_assert_str_eq(schema->description, "Brief description of what this tool does");
    assert_json(schema->parameters,
                "{\"type\":\"object\",\"properties\":{\"param1\":{\"type\":\"string\","
                "\"description\":\"Parameter description\"}},\"required\":[\"param1\"]}");
    assert_json(schema->returns,
                "{\"type\":\"object\",\"properties\":{\"field1\":{\"type\":\"string\"}}}");
    ck_assert_int_eq(schema->timeout_seconds, 0);
    ck_assert(!schema->parallel);
}
END_TEST

/* What an author wrote as parameters, and the JSON Schema that becomes of it. */
START_TEST(parameters_become_json_schema)
{
    static const struct {
        const char *written;
        const char *normalised;
    } cases[] = {
        {"null", "{\"type\":\"object\",\"properties\":{}}"},
        {"{}", "{\"type\":\"object\",\"properties\":{},\"required\":[]}"},
        {"{\"type\":\"object\"}", "{\"type\":\"object\",\"properties\":{}}"},
        {"{\"properties\":{\"a\":{}}}", "{\"properties\":{\"a\":{}},\"type\":\"object\"}"},
        {"{\"type\":\"object\",\"properties\":{\"a\":true},\"required\":[\"a\"],"
         "\"additionalProperties\":false}",
         "{\"type\":\"object\",\"properties\":{\"a\":true},\"required\":[\"a\"],"
         "\"additionalProperties\":false}"},
        {"{\"a\":{\"type\":\"string\",\"required\":true},\"b\":{\"type\":\"integer\","
         "\"required\":false},\"c\":{\"type\":\"boolean\"}}",
         "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":"
         "\"integer\"},\"c\":{\"type\":\"boolean\"}},\"required\":[\"a\"]}"},
        /* parameters that bear the names of JSON Schema's own keys */
        {"{\"type\":{\"type\":\"string\",\"required\":true}}",
         "{\"type\":\"object\",\"properties\":{\"type\":{\"type\":\"string\"}},\"required\":"
         "[\"type\"]}"},
        {"{\"properties\":{\"type\":\"array\",\"required\":true}}",
         "{\"type\":\"object\",\"properties\":{\"properties\":{\"type\":\"array\"}},"
         "\"required\":[\"properties\"]}"},
        {"{\"required\":{\"type\":\"string\"}}",
         "{\"type\":\"object\",\"properties\":{\"required\":{\"type\":\"string\"}},"
         "\"required\":[]}"},
        /* a nested object keeps its list */
        {"{\"o\":{\"type\":\"object\",\"properties\":{\"x\":{}},\"required\":[\"x\"]}}",
         "{\"type\":\"object\",\"properties\":{\"o\":{\"type\":\"object\",\"properties\":{\"x\":{}"
         "},\"required\":[\"x\"]}},\"required\":[]}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = ik_sprintf(ctx, "{\"name\":\"t\",\"parameters\":%s}", cases[i].written);
        assert_json(parse(text)->parameters, cases[i].normalised);
    }
    assert_json(parse("{\"name\":\"t\"}")->parameters, "{\"type\":\"object\",\"properties\":{}}");
}
END_TEST

START_TEST(normalising_twice_changes_nothing)
{
    ik_tool_schema_t *once = parse("{\"name\":\"a-b\",\"parameters\":{\"x\":{\"required\":true}}}");
    char *text = ik_json_format(ctx, once->root);
    assert_json(parse(text)->root, text);
}
END_TEST

START_TEST(faults_have_words)
{
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"", "invalid JSON"},
        {"{", "invalid JSON"},
        {"{} {}", "invalid JSON"},
        {"Loading\n{\"name\":\"t\"}", "invalid JSON"},
        {"{\"name\":\"\xff\"}", "invalid JSON"},
        {"[]", "the schema is not a JSON object"},
        {"null", "the schema is not a JSON object"},
        {"{}", "no name"},
        {"{\"name\":1}", "no name"},
        {"{\"name\":\"\"}", "invalid name"},
        {"{\"name\":\"a\\u0000b\"}", "invalid name"},
        {"{\"name\":\"1a\"}", "invalid name '1a'"},
        {"{\"name\":\"a b\"}", "invalid name 'a b'"},
        {"{\"name\":\"t\",\"description\":1}", "description is not a string"},
        {"{\"name\":\"t\",\"description\":null}", "description is not a string"},
        {"{\"name\":\"t\",\"timeout_seconds\":0}", "timeout_seconds is not a whole number"},
        {"{\"name\":\"t\",\"timeout_seconds\":1.5}", "timeout_seconds is not a whole number"},
        {"{\"name\":\"t\",\"timeout_seconds\":\"1\"}", "timeout_seconds is not a whole number"},
        {"{\"name\":\"t\",\"timeout_seconds\":86401}", "from 1 to 86400"},
        {"{\"name\":\"t\",\"parallel\":1}", "parallel is not true or false"},
        {"{\"name\":\"t\",\"returns\":[]}", "returns is not an object"},
        {"{\"name\":\"t\",\"parameters\":[]}", "parameters are not an object"},
        {"{\"name\":\"t\",\"parameters\":\"x\"}", "parameters are not an object"},
        {"{\"name\":\"t\",\"parameters\":{\"a\":1}}", "parameter 'a' is not an object"},
        {"{\"name\":\"t\",\"parameters\":{\"a\":true}}", "parameter 'a' is not an object"},
        {"{\"name\":\"t\",\"parameters\":{\"type\":\"string\"}}", "not of type object"},
        {"{\"name\":\"t\",\"parameters\":{\"type\":[\"object\"],\"properties\":{}}}",
         "not of type object"},
        {"{\"name\":\"t\",\"parameters\":{\"type\":1,\"properties\":{\"a\":{}}}}",
         "not of type object"},
        {"{\"name\":\"t\",\"parameters\":{\"type\":null,\"properties\":{\"a\":{}}}}",
         "not of type object"},
        {"{\"name\":\"t\",\"parameters\":{\"type\":\"object\",\"properties\":[]}}",
         "properties of the parameters are not objects"},
        {"{\"name\":\"t\",\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":1}}}",
         "properties of the parameters are not objects"},
        {"{\"name\":\"t\",\"parameters\":{\"type\":\"object\",\"required\":true}}",
         "required is not a list of names"},
        {"{\"name\":\"t\",\"parameters\":{\"type\":\"object\",\"required\":[1]}}",
         "required is not a list of names"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ik_tool_schema_t *schema = NULL;
        res_t parsed = ik_tool_schema_parse(ctx, cases[i].text, strlen(cases[i].text), &schema);
        ck_assert_msg(parsed.code == IK_ERR_INVALID, "accepted: %s", cases[i].text);
        ck_assert_msg(strstr(parsed.message, cases[i].words) != NULL, "%s: %s", cases[i].text,
                      parsed.message);
        ck_assert_ptr_null(schema);
    }
    ck_assert_uint_eq(talloc_total_blocks(ctx), 1);
}
END_TEST

START_TEST(options_are_read)
{
    ik_tool_schema_t *schema =
        parse("{\"name\":\"file-read-2\",\"timeout_seconds\":86400,\"parallel\":true,\"extra\":1}");
    ck_assert_str_eq(schema->name, "file_read_2");
    ck_assert_str_eq(json_string_value(json_object_get(schema->root, "name")), "file_read_2");
    ck_assert_str_eq(schema->description, "");
    ck_assert_int_eq(schema->timeout_seconds, 86400);
    ck_assert(schema->parallel);
    ck_assert_ptr_null(schema->returns);
    ck_assert(!parse("{\"name\":\"t\",\"parallel\":false}")->parallel);
}
END_TEST

START_TEST(names)
{
    static const char *const good[] = {"a", "_", "A9_", "file_read",
                                       ("x23456789_123456789_"
                                        "123456789_123456789_123456789_123456789_1234")};
    static const char *const bad[] = {"",
                                      "9",
                                      "a-b",
                                      "a b",
                                      "a.b",
                                      "a/b",
                                      "\t",
                                      "a\n",
                                      "\xc3\xa4",
                                      "a\x7f",
                                      ("x23456789_123456789_"
                                       "123456789_123456789_123456789_123456789_12345")};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        ck_assert_msg(ik_tool_schema_valid_name(good[i]), "refused: %s", good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_msg(!ik_tool_schema_valid_name(bad[i]), "accepted: %s", bad[i]);
    }
    ck_assert_str_eq(ik_tool_schema_name_of_file(ctx, "my-file-tool"), "my_file_tool");
}
END_TEST

START_TEST(text_may_end_anywhere)
{
    static const char text[] = "{\"name\":\"t\",\"description\":\"d\"} and more";
    ik_tool_schema_t *schema;
    res_t parsed = ik_tool_schema_parse(ctx, text, strlen(text) - strlen(" and more"), &schema);
    ck_assert(is_ok(&parsed));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tool_schema");
    TCase *tests = tcase_create("tool_schema");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, the_example_of_the_protocol);
    tcase_add_test(tests, parameters_become_json_schema);
    tcase_add_test(tests, normalising_twice_changes_nothing);
    tcase_add_test(tests, faults_have_words);
    tcase_add_test(tests, options_are_read);
    tcase_add_test(tests, names);
    tcase_add_test(tests, text_may_end_anywhere);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/host_protocol.h"
#include "base/json.h"
#include "suite.h"
#include "tool/tool_schema.h"
#include "tool/tool_schema_pattern.h"

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

static void assert_fault(const char *text, const char *words)
{
    ik_tool_schema_t *schema = NULL;
    res_t parsed = ik_tool_schema_parse(ctx, text, strlen(text), &schema);
    ck_assert_msg(is_err(&parsed) && strstr(parsed.message, words) != NULL, "%s: %s", text,
                  parsed.message);
    ck_assert_ptr_null(schema);
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

/* Parameters as an author wrote them, and the JSON Schema that they become. */
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
         "{\"type\":\"object\",\"properties\":{\"a\":{}},\"required\":[\"a\"],"
         "\"additionalProperties\":false}"},
        {"{\"a\":{\"type\":\"string\",\"required\":true},\"b\":{\"type\":\"integer\","
         "\"required\":false},\"c\":{\"type\":\"boolean\"}}",
         "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":"
         "\"integer\"},\"c\":{\"type\":\"boolean\"}},\"required\":[\"a\"]}"},
        /* parameters with the names of keywords of JSON Schema */
        {"{\"type\":{\"type\":\"string\",\"required\":true}}",
         "{\"type\":\"object\",\"properties\":{\"type\":{\"type\":\"string\"}},\"required\":"
         "[\"type\"]}"},
        {"{\"properties\":{\"type\":\"array\",\"required\":true}}",
         "{\"type\":\"object\",\"properties\":{\"properties\":{\"type\":\"array\",\"items\":{}}},"
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
         "type is not a string"},
        {"{\"name\":\"t\",\"parameters\":{\"type\":\"object\",\"properties\":[]}}",
         "parameters: properties is not an object of schemas"},
        {"{\"name\":\"t\",\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":1}}}",
         "parameters.a: expected a schema, an object"},
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

/* Mistakes that can mean only one thing: the schema that providers get, and the message for the
 * author. */
START_TEST(what_is_unambiguous_is_repaired)
{
    static const struct {
        const char *written; /* the property x, or the whole schema */
        const char *repaired;
        const char *words;
    } cases[] = {
        {"{\"type\":\"array\"}", "{\"type\":\"array\",\"items\":{}}",
         "parameters.x: an array needs items"},
        {"{\"type\":\"array\",\"items\":{\"type\":\"array\"}}",
         "{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":{}}}",
         "parameters.x.items: an array needs items"},
        {"{\"type\":\"STRING\"}", "{\"type\":\"string\"}", "'STRING' must be written 'string'"},
        {"{\"type\":\"int\"}", "{\"type\":\"integer\"}", "'int' must be written 'integer'"},
        {"{\"type\":[\"str\",\"None\"]}", "{\"type\":[\"string\",\"null\"]}",
         "'str' must be written"},
        {"{\"type\":\"any\"}", "{}", "no type 'any'"},
        {"{\"type\":\"string\",\"description\":null}", "{\"type\":\"string\"}",
         "parameters.x: description has no value"},
        {"{\"type\":\"string\",\"enum\":[\"a\",\"a\"]}", "{\"type\":\"string\",\"enum\":[\"a\"]}",
         "enum holds a value twice"},
        {"{\"type\":\"string\",\"enum\":[\"a\",null]}",
         "{\"type\":[\"string\",\"null\"],\"enum\":[\"a\",null]}", "enum allows null"},
        {"{\"type\":\"object\",\"properties\":{\"y\":{\"type\":\"string\",\"required\":true},"
         "\"z\":{\"type\":\"string\",\"required\":\"false\"}}}",
         "{\"type\":\"object\",\"properties\":{\"y\":{\"type\":\"string\"},\"z\":{\"type\":"
         "\"string\"}},\"required\":[\"y\"]}",
         "parameters.x.y: required belongs in the list"},
        {"{\"type\":\"array\",\"items\":{\"type\":\"string\",\"required\":true}}",
         "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}", "required must be a list"},
        {"{\"type\":\"object\",\"properties\":{\"y\":{}},\"required\":\"y\"}",
         "{\"type\":\"object\",\"properties\":{\"y\":{}},\"required\":[\"y\"]}", "list of names"},
        {"{\"type\":\"integer\",\"minimum\":5,\"exclusiveMinimum\":true}",
         "{\"type\":\"integer\",\"exclusiveMinimum\":5}", "exclusiveMinimum must be a number"},
        {"{\"type\":\"array\",\"items\":[{\"type\":\"string\"}]}",
         "{\"type\":\"array\",\"items\":{},\"prefixItems\":[{\"type\":\"string\"}]}",
         "prefixItems"},
        {"{\"anyOf\":{\"type\":\"string\"}}", "{\"anyOf\":[{\"type\":\"string\"}]}",
         "anyOf must be a list"},
        {"{\"type\":\"string\",\"pattern\":\"\\\\p{L}\",\"description\":\"A\"}",
         "{\"type\":\"string\",\"description\":\"A (pattern: \\\\p{L})\"}",
         "not every provider understands the pattern"},
        {"{\"type\":\"string\",\"pattern\":\"^[a-z]+(?:-\\\\d{1,3})?$\"}",
         "{\"type\":\"string\",\"pattern\":\"^[a-z]+(?:-\\\\d{1,3})?$\"}", NULL},
        {"{\"properties\":{\"y\":{}}}", "{\"properties\":{\"y\":{}},\"type\":\"object\"}", NULL},
        {"{\"type\":\"object\"}", "{\"type\":\"object\",\"properties\":{}}", NULL},
        {"{\"default\":null,\"const\":null}", "{\"default\":null,\"const\":null}", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ik_tool_schema_findings_t findings = {.ctx = ctx};
        ik_tool_schema_t *schema = NULL;
        char *text = ik_sprintf(ctx,
                                "{\"name\":\"t\",\"description\":\"d\",\"parameters\":{"
                                "\"type\":\"object\",\"properties\":{\"x\":%s}}}",
                                cases[i].written);
        res_t parsed = ik_tool_schema_examine(ctx, text, strlen(text), &findings, &schema);
        ck_assert_msg(is_ok(&parsed), "%s: %s", cases[i].written, parsed.message);
        assert_json(json_object_get(json_object_get(schema->parameters, "properties"), "x"),
                    cases[i].repaired);
        ck_assert_msg((findings.repair_count == 0) == (cases[i].words == NULL), "%s",
                      cases[i].written);
        ck_assert_msg(cases[i].words == NULL || strstr(findings.repairs[0], cases[i].words) != NULL,
                      "%s", findings.repairs[0]);
        char *once = ik_json_format(ctx, schema->root);
        assert_json(parse(once)->root, once);
    }
}
END_TEST

START_TEST(required_moves_into_the_list_at_the_top)
{
    ik_tool_schema_t *schema =
        parse("{\"name\":\"t\",\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
              "\"string\",\"required\":true},\"b\":{\"type\":\"string\",\"required\":false}}}}");
    assert_json(schema->parameters,
                "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},"
                "\"b\":{\"type\":\"string\"}},\"required\":[\"a\"]}");
    /* Alternatives that only restrict are dropped; the tool checks its input. */
    schema = parse("{\"name\":\"t\",\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":{},"
                   "\"b\":{}},\"anyOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}}");
    ck_assert_ptr_null(json_object_get(schema->parameters, "anyOf"));
}
END_TEST

/* A search for each of them in all would take minutes. */
START_TEST(long_lists_are_checked_quickly)
{
    enum { VALUES = 100 * 1000 };
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&text, "{\"name\":\"t\",\"parameters\":{\"type\":\"object\","
                                 "\"properties\":{\"a\":{\"enum\":[");
    for (int i = 0; i < VALUES; i++) {
        ik_buffer_append_format(&text, "%d,", i);
    }
    ik_buffer_append_text(&text, "{\"x\":1,\"y\":2},{\"y\":2,\"x\":1}]}");
    for (int i = 0; i < VALUES / 5; i++) {
        ik_buffer_append_format(&text, ",\"p%d\":{\"required\":true}", i);
    }
    ik_buffer_append_text(&text, "},\"required\":[\"p7\"]}}");
    ik_tool_schema_t *schema = parse(text.data);
    json_t *properties = json_object_get(schema->parameters, "properties");
    json_t *values = json_object_get(json_object_get(properties, "a"), "enum");
    ck_assert_uint_eq(json_array_size(values), VALUES + 1);
    ck_assert_uint_eq(json_array_size(json_object_get(schema->parameters, "required")), VALUES / 5);
}
END_TEST

/* Mistakes that could mean several things: the tool is skipped, and the message says where and why.
 */
START_TEST(what_is_ambiguous_is_a_fault)
{
    static const struct {
        const char *written;
        const char *words;
    } cases[] = {
        {"{\"type\":\"strng\"}", "parameters.x: unknown type 'strng'; did you mean 'string'?"},
        {"{\"type\":[\"string\",\"nul\"]}", "unknown type 'nul'; did you mean 'null'?"},
        {"{\"type\":\"date\"}", "parameters.x: unknown type 'date'"},
        {"{\"type\":[]}", "type is an empty list"},
        {"{\"type\":1}", "type is not a string"},
        {"{\"type\":\"array\",\"items\":{\"type\":\"strng\"}}", "parameters.x.items: unknown type"},
        {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"bolean\"}]}",
         "parameters.x.anyOf[1]: unknown type 'bolean'; did you mean 'boolean'?"},
        {"{\"anyOf\":[]}", "anyOf is not a list of schemas"},
        {"{\"type\":\"string\",\"enum\":[]}", "enum is empty"},
        {"{\"type\":\"string\",\"enum\":\"a,b\"}", "enum is not a list"},
        {"{\"type\":\"string\",\"enum\":[1]}", "enum holds a value of type integer"},
        {"{\"type\":\"integer\",\"const\":\"1\"}", "const is of type string"},
        {"{\"$ref\":\"#/$defs/Nope\"}", "$ref '#/$defs/Nope' leads to nothing"},
        {"{\"$ref\":\"http://example.com/x\"}", "leads to nothing in this schema"},
        {"{\"$ref\":\"#/properties/x\"}", "leads back to itself"},
        {"{\"type\":\"integer\",\"minimum\":\"1\"}", "minimum is not a number"},
        {"{\"type\":\"string\",\"minLength\":-1}", "minLength is not a whole number"},
        {"{\"type\":\"number\",\"multipleOf\":0}", "multipleOf is not a number above 0"},
        {"{\"type\":\"string\",\"description\":[]}", "description is not a string"},
        {"{\"type\":\"object\",\"properties\":{\"y\":\"string\"}}",
         "parameters.x.y: expected a schema"},
        {"{\"type\":\"object\",\"properties\":{\"y\":{}},\"required\":[1]}", "not a list of names"},
        {"{},\"a b\":{}", "parameter 'a b' has a name that providers refuse"},
        {"{}},\"oneOf\":[{\"properties\":{\"q\":{}}}],\"$defs\":{",
         "oneOf is not allowed at the top"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = ik_sprintf(ctx,
                                "{\"name\":\"t\",\"parameters\":{\"type\":\"object\","
                                "\"properties\":{\"x\":%s}}}",
                                cases[i].written);
        ik_tool_schema_t *schema = NULL;
        res_t parsed = ik_tool_schema_parse(ctx, text, strlen(text), &schema);
        ck_assert_msg(parsed.code == IK_ERR_INVALID, "accepted: %s", cases[i].written);
        ck_assert_msg(strstr(parsed.message, cases[i].words) != NULL, "%s: %s", cases[i].written,
                      parsed.message);
    }
}
END_TEST

START_TEST(patterns_that_every_provider_understands)
{
    static const char *const portable[] = {"",          "a|b|",      "^[a-z_]+$", "\\d{1,3}",
                                           "(?:x|y)*?", "(?!a)b",    "a{2,}",     "[^\\s-]",
                                           "x{3}",      "\\bfoo\\b", "((((a))))", "[\\]a]"};
    static const char *const others[] = {
        "(",      "a)",      "[a",    "[]",      "[z-a]", "[\\d-z]", "[[:x:]]", "[a&&b]",
        "a{2,1}", "x{,3}",   "{2}",   "a{1001}", "a**",   "^*",      "\\b*",    "\\p{L}",
        "\\",     "(?<n>a)", "(?:?)", "]",       "}",     "(?"};
    for (size_t i = 0; i < sizeof(portable) / sizeof(portable[0]); i++) {
        ck_assert_msg(ik_tool_schema_pattern_is_portable(portable[i], strlen(portable[i])), "%s",
                      portable[i]);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        ck_assert_msg(!ik_tool_schema_pattern_is_portable(others[i], strlen(others[i])), "%s",
                      others[i]);
    }
    ck_assert(!ik_tool_schema_pattern_is_portable("a\0b", 3));
    char deep[100] = "";
    memset(deep, '(', 33);
    memset(deep + 33, ')', 33);
    ck_assert(!ik_tool_schema_pattern_is_portable(deep, 66));
    ck_assert(ik_tool_schema_pattern_is_portable("((()))", 6));
}
END_TEST

START_TEST(all_is_found_at_once)
{
    static const char text[] =
        "{\"name\":\"t\",\"parallel\":1,\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":"
        "{\"type\":\"strng\"},\"b\":{\"type\":\"array\"},\"c\":{\"type\":\"string\",\"enum\":[]}}}"
        "}";
    ik_tool_schema_findings_t findings = {.ctx = ctx};
    ik_tool_schema_t *schema = NULL;
    res_t parsed = ik_tool_schema_examine(ctx, text, strlen(text), &findings, &schema);
    ck_assert(is_err(&parsed));
    ck_assert_uint_eq(findings.fault_count, 3);
    ck_assert_uint_eq(findings.repair_count, 2); /* the description and the items */
}
END_TEST

START_TEST(bad_returns_cost_only_themselves)
{
    ik_tool_schema_t *schema =
        parse("{\"name\":\"t\",\"returns\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
              "\"strng\"}}}}");
    ck_assert_ptr_null(schema->returns);
    ck_assert_ptr_null(parse("{\"name\":\"t\",\"returns\":null}")->returns);
    assert_json(parse("{\"name\":\"t\",\"returns\":{\"output\":{\"type\":\"string\"}}}")->returns,
                "{\"type\":\"object\",\"properties\":{\"output\":{\"type\":\"string\"}}}");
}
END_TEST

START_TEST(options_are_read)
{
    ik_tool_schema_t *schema =
        parse("{\"name\":\"file-read-2\",\"timeout_seconds\":86400,\"parallel\":true,\"extra\":1}");
    ck_assert_str_eq(schema->name, "file_read_2");
    ck_assert_str_eq(json_string_value(json_object_get(schema->root, "name")), "file_read_2");
    ck_assert_str_eq(schema->description, "file_read_2");
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

/* effects, and what they mean; NULL: a fault. */
START_TEST(effects)
{
    static const struct {
        const char *written;
        const char *meaning;
    } cases[] = {
        {"{}", "none/no"},
        {"{\"write\":\"none\"}", "none/no"},
        {"{\"write\":\"project\"}", "project/no"},
        {"{\"write\":\"anywhere\",\"network\":false}", "anywhere/no"},
        {"{\"network\":true}", "none/yes"},
        {"{\"network\":true,\"write\":\"project\"}", "project/yes"},
        {"null", NULL},
        {"true", NULL},
        {"\"project\"", NULL},
        {"[]", NULL},
        {"[\"write\"]", NULL},
        {"{\"write\":\"Project\"}", NULL},
        {"{\"write\":\"\"}", NULL},
        {"{\"write\":\"none\\u0000\"}", NULL},
        {"{\"write\":null}", NULL},
        {"{\"write\":true}", NULL},
        {"{\"write\":[\"none\"]}", NULL},
        {"{\"network\":null}", NULL},
        {"{\"network\":\"true\"}", NULL},
        {"{\"network\":1}", NULL},
        {"{\"read\":\"project\"}", NULL},
        {"{\"write\":\"none\",\"network\":false,\"more\":false}", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = ik_sprintf(ctx, "{\"name\":\"t\",\"effects\":%s}", cases[i].written);
        if (cases[i].meaning == NULL) {
            assert_fault(text, "effects is not ");
            continue;
        }
        ik_tool_schema_t *schema = parse(text);
        ck_assert(schema->declares_effects);
        ck_assert_str_eq(ik_sprintf(ctx, "%s/%s", ik_effects_write_name(schema->effects.write),
                                    schema->effects.network ? "yes" : "no"),
                         cases[i].meaning);
    }
    ck_assert(!parse("{\"name\":\"t\"}")->declares_effects);
}
END_TEST

/* A tool with a display that is not known is used without it, and its author is told. */
START_TEST(display)
{
    static const struct {
        const char *written;
        ik_display_t meaning;
    } cases[] = {
        {"\"diff\"", IK_DISPLAY_DIFF},         {"\"checklist\"", IK_DISPLAY_CHECKLIST},
        {"\"table\"", IK_DISPLAY_TABLE},       {"\"markdown\"", IK_DISPLAY_MARKDOWN},
        {"\"code\"", IK_DISPLAY_CODE},         {"\"image\"", IK_DISPLAY_IMAGE},
        {"\"Diff\"", IK_DISPLAY_USUAL},        {"\"\"", IK_DISPLAY_USUAL},
        {"\"code\\u0000\"", IK_DISPLAY_USUAL}, {"null", IK_DISPLAY_USUAL},
        {"[\"diff\"]", IK_DISPLAY_USUAL},      {"1", IK_DISPLAY_USUAL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ik_tool_schema_findings_t findings = {.ctx = ctx};
        ik_tool_schema_t *schema;
        char *text = ik_sprintf(ctx, "{\"name\":\"t\",\"description\":\"d\",\"display\":%s}",
                                cases[i].written);
        res_t parsed = ik_tool_schema_examine(ctx, text, strlen(text), &findings, &schema);
        ck_assert(is_ok(&parsed));
        ck_assert_int_eq(schema->display, cases[i].meaning);
        ck_assert_uint_eq(findings.repair_count, cases[i].meaning == IK_DISPLAY_USUAL ? 1 : 0);
    }
    ck_assert_int_eq(parse("{\"name\":\"t\"}")->display, IK_DISPLAY_USUAL);
}
END_TEST

START_TEST(escalation)
{
    static const char *const faults[] = {"null",
                                         "true",
                                         "\"p\"",
                                         "[\"p\"]",
                                         "{}",
                                         "{\"parameter\":null}",
                                         "{\"parameter\":1}",
                                         "{\"parameter\":\"\"}",
                                         "{\"parameter\":\"q\"}",
                                         "{\"parameter\":\"n\"}",
                                         "{\"parameter\":\"two\"}",
                                         "{\"parameter\":\"any\"}",
                                         "{\"parameter\":\"p\\u0000\"}",
                                         "{\"parameter\":\"p\",\"more\":1}",
                                         "{\"name\":\"p\"}"};
    static const char form[] =
        "{\"name\":\"t\",\"parameters\":{\"p\":{\"type\":\"string\"},\"n\":{\"type\":"
        "\"integer\"},\"two\":{\"type\":[\"string\",\"integer\"]},\"any\":{},\"o\":{\"type\":"
        "[\"string\",\"null\"]}},\"escalation\":%s}";
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        assert_fault(ik_sprintf(ctx, form, faults[i]), "escalation is not ");
    }
    assert_fault("{\"name\":\"t\",\"escalation\":{\"parameter\":\"p\"}}", "escalation is not ");
    ck_assert_str_eq(parse(ik_sprintf(ctx, form, "{\"parameter\":\"p\"}"))->escalation, "p");
    ck_assert_str_eq(parse(ik_sprintf(ctx, form, "{\"parameter\":\"o\"}"))->escalation, "o");
    ck_assert_ptr_null(parse("{\"name\":\"t\"}")->escalation);
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

START_TEST(what_a_tool_asks_ikigai_for)
{
    static const struct {
        const char *host;
        unsigned ops; /* 0: a fault */
    } cases[] = {
        {"[\"ask\"]", IK_HOST_ASK},
        {"[\"complete\", \"agent\", \"ask\", \"ask\"]",
         IK_HOST_ASK | IK_HOST_AGENT | IK_HOST_COMPLETE},
        {"[\"ask\", \"sing\"]", 0},
        {"[\"ask\\u0000\"]", 0},
        {"[1]", 0},
        {"\"ask\"", 0},
        {"null", 0},
    };
    for (size_t i = 0; i < IK_LENGTH(cases); i++) {
        ik_tool_schema_t *schema;
        char *text = ik_sprintf(NULL, "{\"name\":\"t\",\"host\":%s}", cases[i].host);
        res_t parsed = ik_tool_schema_parse(NULL, text, strlen(text), &schema);
        ck_assert_msg(is_ok(&parsed) == (cases[i].ops != 0), "%s", text);
        if (is_ok(&parsed)) {
            ck_assert_uint_eq(schema->host, cases[i].ops);
            talloc_free(schema);
        }
        talloc_free(text);
    }
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
    tcase_add_test(tests, what_is_unambiguous_is_repaired);
    tcase_add_test(tests, required_moves_into_the_list_at_the_top);
    tcase_add_test(tests, long_lists_are_checked_quickly);
    tcase_add_test(tests, what_is_ambiguous_is_a_fault);
    tcase_add_test(tests, patterns_that_every_provider_understands);
    tcase_add_test(tests, all_is_found_at_once);
    tcase_add_test(tests, bad_returns_cost_only_themselves);
    tcase_add_test(tests, options_are_read);
    tcase_add_test(tests, effects);
    tcase_add_test(tests, display);
    tcase_add_test(tests, escalation);
    tcase_add_test(tests, names);
    tcase_add_test(tests, text_may_end_anywhere);
    tcase_add_test(tests, what_a_tool_asks_ikigai_for);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

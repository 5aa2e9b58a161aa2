#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "suite.h"
#include "tool/tool_registry.h"

static ik_tool_registry_t *registry;

static void set_up(void)
{
    registry = ik_tool_registry_create(NULL);
}

static void tear_down(void)
{
    talloc_free(registry);
}

static ik_tool_schema_t *schema_of(const char *text)
{
    ik_tool_schema_t *schema;
    res_t parsed = ik_tool_schema_parse(NULL, text, strlen(text), &schema);
    ck_assert_msg(is_ok(&parsed), "%s", parsed.message);
    return schema;
}

static res_t add(const char *name, const char *origin, ik_tool_source_t source)
{
    char *text = ik_sprintf(NULL, "{\"name\":\"%s\",\"description\":\"from %s\"}", name, origin);
    ik_tool_schema_t *schema = schema_of(text);
    res_t added = ik_tool_registry_add(registry, origin, origin, source, false, schema);
    if (is_err(&added)) {
        talloc_free(schema); /* the registry did not take it */
    }
    talloc_free(text);
    return added;
}

/* The parts of all schemas that requests contain, in the order of the registry. */
static void assert_all(const char *expected)
{
    json_t *all = json_array();
    for (size_t i = 0; i < registry->count; i++) {
        const ik_tool_schema_t *schema = registry->entries[i]->schema;
        json_array_append_new(all,
                              json_pack("{s:s, s:s, s:O}", "name", schema->name, "description",
                                        schema->description, "parameters", schema->parameters));
    }
    char *text = ik_json_format(registry, all);
    ck_assert_str_eq(text, expected);
    json_decref(all);
}

START_TEST(an_empty_one)
{
    ck_assert_ptr_null(ik_tool_registry_lookup(registry, "bash"));
    assert_all("[]");
}
END_TEST

START_TEST(sorted_whatever_the_order)
{
    static const char *const names[] = {"m", "c", "z", "a", "k", "B", "_", "zz", "ab", "b"};
    static const char *const sorted[] = {"B", "_", "a", "ab", "b", "c", "k", "m", "z", "zz"};
    enum { COUNT = sizeof(names) / sizeof(names[0]) };
    for (size_t i = 0; i < COUNT; i++) {
        res_t added = add(names[i], names[i], IK_TOOL_SYSTEM);
        ck_assert(is_ok(&added));
    }
    ck_assert_uint_eq(registry->count, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        ck_assert_str_eq(registry->entries[i]->name, sorted[i]);
        ck_assert_ptr_eq(ik_tool_registry_lookup(registry, sorted[i]), registry->entries[i]);
    }
    ck_assert_ptr_null(ik_tool_registry_lookup(registry, "aa"));
    ck_assert_ptr_null(ik_tool_registry_lookup(registry, ""));
    ck_assert_ptr_null(ik_tool_registry_lookup(registry, "zzz"));
}
END_TEST

START_TEST(later_sources_override)
{
    static const struct {
        ik_tool_source_t first, second;
        bool replaced;
    } cases[] = {
        {IK_TOOL_SYSTEM, IK_TOOL_USER, true},    {IK_TOOL_SYSTEM, IK_TOOL_PROJECT, true},
        {IK_TOOL_USER, IK_TOOL_PROJECT, true},   {IK_TOOL_USER, IK_TOOL_SYSTEM, false},
        {IK_TOOL_PROJECT, IK_TOOL_USER, false},  {IK_TOOL_PROJECT, IK_TOOL_SYSTEM, false},
        {IK_TOOL_SYSTEM, IK_TOOL_SYSTEM, false}, {IK_TOOL_USER, IK_TOOL_USER, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tear_down();
        set_up();
        ck_assert_int_eq(add("x", "/first", cases[i].first).code, IK_ERR_NONE);
        res_t second = add("x", "/second", cases[i].second);
        const ik_tool_registry_entry_t *entry = ik_tool_registry_lookup(registry, "x");
        ck_assert_uint_eq(registry->count, 1);
        if (cases[i].replaced) {
            ck_assert(is_ok(&second));
            ck_assert_str_eq(entry->origin, "/second");
            ck_assert_str_eq(entry->overrides, "/first");
            ck_assert_int_eq(entry->source, cases[i].second);
        } else {
            ck_assert_int_eq(second.code, IK_ERR_CONFLICT);
            ck_assert_str_eq(second.message, "/first already provides 'x'");
            ck_assert_str_eq(entry->origin, "/first");
            ck_assert_ptr_null(entry->overrides);
        }
    }
}
END_TEST

START_TEST(the_list_for_models_is_byte_stable)
{
    static const char expected[] =
        "[{\"name\":\"a\",\"description\":\"from /a\",\"parameters\":{\"type\":\"object\","
        "\"properties\":{}}},{\"name\":\"b\",\"description\":\"from /b\",\"parameters\":{\"type\":"
        "\"object\",\"properties\":{}}}]";
    add("a", "/a", IK_TOOL_SYSTEM);
    add("b", "/b", IK_TOOL_USER);
    assert_all(expected);
    assert_all(expected);
    tear_down();
    set_up();
    add("b", "/b", IK_TOOL_USER);
    add("a", "/a", IK_TOOL_SYSTEM);
    assert_all(expected);
}
END_TEST

START_TEST(returns_are_not_sent_with_the_tool)
{
    ik_tool_schema_t *schema =
        schema_of("{\"name\":\"t\",\"parameters\":{\"p\":{\"type\":\"string\",\"required\":true}},"
                  "\"returns\":{\"r\":{}}}");
    ck_assert_int_eq(
        ik_tool_registry_add(registry, "/copy/t", "/t", IK_TOOL_PROJECT, true, schema).code,
        IK_ERR_NONE);
    assert_all("[{\"name\":\"t\",\"description\":\"t\",\"parameters\":{\"type\":\"object\","
               "\"properties\":{\"p\":{\"type\":\"string\"}},\"required\":[\"p\"]}}]");
    const ik_tool_registry_entry_t *entry = ik_tool_registry_lookup(registry, "t");
    ck_assert_str_eq(entry->path, "/copy/t");
    ck_assert_str_eq(entry->origin, "/t");
    ck_assert(entry->cached);
    ck_assert_ptr_nonnull(entry->schema->returns);
}
END_TEST

START_TEST(disabled_tools_go)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    for (size_t i = 0; i < 4; i++) {
        add(names[i], names[i], IK_TOOL_SYSTEM);
    }
    ik_config_tool_t first = {.name = "a", .enabled = false};
    ik_config_tool_t third = {.name = "c", .enabled = false};
    ik_config_tool_t kept = {.name = "d", .enabled = true};
    ik_config_tool_t other = {.name = "other", .enabled = false};
    ik_config_tool_t *tools[] = {&first, &third, &kept, &other};
    ik_config_t config = {.tools = tools, .tool_count = 4};
    ik_tool_registry_remove_disabled(registry, &config);
    ck_assert_uint_eq(registry->count, 2);
    ck_assert_str_eq(registry->entries[0]->name, "b");
    ck_assert_str_eq(registry->entries[1]->name, "d");
    ck_assert_ptr_null(ik_tool_registry_lookup(registry, "a"));
}
END_TEST

START_TEST(source_names)
{
    ck_assert_str_eq(ik_tool_source_name(IK_TOOL_SYSTEM), "system");
    ck_assert_str_eq(ik_tool_source_name(IK_TOOL_USER), "user");
    ck_assert_str_eq(ik_tool_source_name(IK_TOOL_PROJECT), "project");
}
END_TEST

/* What a tool declares, where it lies, and what it is held to. */
START_TEST(effects_in_force)
{
    static const struct {
        const char *declared; /* NULL: nothing */
        ik_tool_source_t source;
        bool granted;
        const char *enforced; /* NULL: not confined */
    } cases[] = {
        {NULL, IK_TOOL_SYSTEM, false, NULL},
        {NULL, IK_TOOL_USER, false, NULL},
        {NULL, IK_TOOL_PROJECT, false, "project/no"},
        {NULL, IK_TOOL_PROJECT, true, "project/no"},
        {"\"write\":\"anywhere\",\"network\":true", IK_TOOL_SYSTEM, false, "anywhere/yes"},
        {"\"write\":\"anywhere\",\"network\":true", IK_TOOL_USER, false, "anywhere/yes"},
        {"\"write\":\"anywhere\",\"network\":true", IK_TOOL_PROJECT, false, "project/no"},
        {"\"write\":\"anywhere\",\"network\":true", IK_TOOL_PROJECT, true, "anywhere/yes"},
        {"\"network\":true", IK_TOOL_PROJECT, false, "project/no"},
        {"\"network\":true", IK_TOOL_PROJECT, true, "none/yes"},
        {"\"write\":\"anywhere\"", IK_TOOL_PROJECT, false, "project/no"},
        {"\"write\":\"project\"", IK_TOOL_PROJECT, false, "project/no"},
        {"\"write\":\"none\"", IK_TOOL_PROJECT, false, "none/no"},
        {"", IK_TOOL_USER, false, "none/no"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ik_tool_registry_entry_t entry = {
            .source = cases[i].source,
            .more_granted = cases[i].granted,
            .schema = schema_of(cases[i].declared == NULL
                                    ? "{\"name\":\"t\"}"
                                    : ik_sprintf(registry, "{\"name\":\"t\",\"effects\":{%s}}",
                                                 cases[i].declared))};
        ik_effects_t effects;
        bool confined = ik_tool_registry_effects(&entry, &effects);
        ck_assert_msg(confined == (cases[i].enforced != NULL), "case %zu", i);
        if (confined) {
            ck_assert_str_eq(ik_sprintf(registry, "%s/%s", ik_effects_write_name(effects.write),
                                        effects.network ? "yes" : "no"),
                             cases[i].enforced);
        }
        talloc_free((void *)entry.schema);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tool_registry");
    TCase *tests = tcase_create("tool_registry");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, an_empty_one);
    tcase_add_test(tests, sorted_whatever_the_order);
    tcase_add_test(tests, later_sources_override);
    tcase_add_test(tests, the_list_for_models_is_byte_stable);
    tcase_add_test(tests, returns_are_not_sent_with_the_tool);
    tcase_add_test(tests, disabled_tools_go);
    tcase_add_test(tests, source_names);
    tcase_add_test(tests, effects_in_force);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

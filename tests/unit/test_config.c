#include <check.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/config.h"
#include "base/config_secret.h"
#include "base/file.h"
#include "base/mode.h"
#include "scratch.h"

static ik_paths_t paths;
static ik_config_t *config; /* of the last load */
static res_t result;

static void clear_environment(void)
{
    static const char *const names[] = {
        "IKIGAI_MODEL",    "IKIGAI_DB",      "OPENAI_BASE_URL",   "ANTHROPIC_BASE_URL",
        "GEMINI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY",
        "GOOGLE_API_KEY",  "TEST_KEY",       "OTHER_KEY",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        unsetenv(names[i]);
    }
}

static void set_up(void)
{
    scratch_empty();
    clear_environment();
    paths = (ik_paths_t){
        .system_config = scratch_path("system.json"),
        .user_config = scratch_path("user.json"),
        .project_config = scratch_path("project.json"),
        .database = "/home/u/.ikigai/ikigai.db",
    };
    config = NULL;
}

static void tear_down(void)
{
    TALLOC_FREE(config);
}

static void load_with(const ik_config_flags_t *flags)
{
    TALLOC_FREE(config);
    result = ik_config_load(NULL, &paths, flags, &config);
    ck_assert_ptr_nonnull(config);
}

static void load(void)
{
    load_with(NULL);
}

static void load_good(void)
{
    load();
    ck_assert_msg(is_ok(&result), "%s", result.message);
}

/* A file that must be refused at this line with a message that contains words. */
typedef struct {
    int line;
    const char *text;
    const char *words;
} fault_t;

static void assert_fault(const char *file, const fault_t *fault)
{
    char place[128];
    snprintf(place, sizeof(place), "%s:%d: ", scratch_write(file, fault->text), fault->line);
    load();
    ck_assert_msg(is_err(&result), "accepted: %s", fault->text);
    ck_assert_int_ne(result.code, IK_ERR_NONE);
    ck_assert_msg(strstr(result.message, place) == result.message, "%s", result.message);
    ck_assert_msg(strstr(result.message, fault->words) != NULL, "%s", result.message);
}

static void assert_warning(const char *file, int line, const char *words)
{
    char place[128];
    snprintf(place, sizeof(place), "%s:%d: ", scratch_path(file), line);
    for (size_t i = 0; i < config->warning_count; i++) {
        if (strstr(config->warnings[i], place) == config->warnings[i] &&
            strstr(config->warnings[i], words) != NULL) {
            return;
        }
    }
    ck_abort_msg("no warning '%s...%s' among %zu, the first: %s", place, words,
                 config->warning_count, config->warning_count == 0 ? "" : config->warnings[0]);
}

static ik_config_source_t source_of(const char *name)
{
    return ik_config_key_source(ik_config_find_key(IK_CONFIG_TOP, name), config);
}

/* --- layers ------------------------------------------------------------------------------ */

/* "key":value, where a key such as limits.memory is a member of an object. */
static const char *format_member(const char *key, const char *value)
{
    static char text[256];
    const char *dot = strchr(key, '.');
    int outer = dot == NULL ? 0 : (int)(dot - key);
    if (dot == NULL) {
        snprintf(text, sizeof(text), "\"%s\":\n%s", key, value);
    } else {
        snprintf(text, sizeof(text), "\"%.*s\":{\"%s\":\n%s}", outer, key, dot + 1, value);
    }
    return text;
}

/* Keys at the top: their fields, built-in values, and values that a user can set. */
static const struct {
    const char *key;
    size_t offset;
    long built_in;
    long set;
} numbers[] = {
    {"max_output_tokens", offsetof(ik_config_t, max_output_tokens), 0, 1},
    {"max_tool_turns", offsetof(ik_config_t, max_tool_turns), 50, 2},
    {"max_output_size", offsetof(ik_config_t, max_output_size), 1048576, 2000000},
    {"tool_timeout_seconds", offsetof(ik_config_t, tool_timeout_seconds), 30, 4},
    {"tool_max_seconds", offsetof(ik_config_t, tool_max_seconds), 600, 5},
    {"schema_timeout_ms", offsetof(ik_config_t, schema_timeout_ms), 1000, 6},
    {"hook_timeout_seconds", offsetof(ik_config_t, hook_timeout_seconds), 60, 11},
    {"connect_timeout_seconds", offsetof(ik_config_t, connect_timeout_seconds), 10, 7},
    {"silence_timeout_seconds", offsetof(ik_config_t, silence_timeout_seconds), 120, 8},
    {"idle_stream_seconds", offsetof(ik_config_t, idle_stream_seconds), 600, 9},
    {"notify_after_seconds", offsetof(ik_config_t, notify_after_seconds), 10, 0},
    {"undo_max_files", offsetof(ik_config_t, undo_max_files), 50000, 0},
    {"undo_max_bytes", offsetof(ik_config_t, undo_max_bytes), 268435456, 1},
    {"limits.memory", offsetof(ik_config_t, limits.memory), 0, 1},
    {"limits.file_size", offsetof(ik_config_t, limits.file_size), 0, 2},
    {"limits.processes", offsetof(ik_config_t, limits.processes), 0, 3},
    {"limits.cpu_seconds", offsetof(ik_config_t, limits.cpu_seconds), 0, 4},
};

static const struct {
    const char *key;
    size_t offset;
    int built_in;
    const char *text;
    int set;
} choices[] = {
    {"tool_output", offsetof(ik_config_t, tool_output), IK_CONFIG_TOOL_OUTPUT_FULL, "short",
     IK_CONFIG_TOOL_OUTPUT_SHORT},
    {"mode", offsetof(ik_config_t, mode), 0, "ask", 1 + IK_MODE_ASK},
    {"confinement", offsetof(ik_config_t, confinement), IK_CONFIG_CONFINEMENT_PREFERRED, "off",
     IK_CONFIG_CONFINEMENT_OFF},
    {"notify", offsetof(ik_config_t, notify), IK_CONFIG_NOTIFY_AUTO, "osc99",
     IK_CONFIG_NOTIFY_OSC99},
    {"keys", offsetof(ik_config_t, keys), IK_CONFIG_KEYS_EMACS, "vi", IK_CONFIG_KEYS_VI},
};

static long number_at(size_t i)
{
    return *(const long *)((const char *)config + numbers[i].offset);
}

static int choice_at(size_t i)
{
    return *(const int *)((const char *)config + choices[i].offset);
}

START_TEST(built_in_values)
{
    load_good();
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        ck_assert_msg(number_at(i) == numbers[i].built_in, "%s", numbers[i].key);
    }
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        ck_assert_msg(choice_at(i) == choices[i].built_in, "%s", choices[i].key);
    }
    ck_assert_ptr_null(config->model);
    ck_assert_ptr_null(config->effort);
    ck_assert_ptr_null(config->system_prompt);
    ck_assert_str_eq(config->db, "/home/u/.ikigai/ikigai.db");
    ck_assert_str_eq(config->theme, "auto");
    ck_assert_int_eq(config->colours.base, IK_CONFIG_THEME_AUTO);
    for (size_t i = 0; i < IK_CONFIG_COLOUR_COUNT; i++) {
        ck_assert_uint_eq(config->colours.colours[i], IK_CONFIG_COLOUR_UNSET);
    }
    ck_assert_uint_eq(config->warning_count, 0);
    ck_assert_uint_eq(config->provider_count, 9);
    for (size_t i = 0; i < IK_CONFIG_KEY_COUNT; i++) {
        ck_assert_int_eq(config->sources[i], IK_CONFIG_BUILT_IN);
    }
}
END_TEST

static void assert_list(const char *const *list, const char *expected)
{
    ik_buffer_t names;
    ik_buffer_init(&names, config, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&names, "");
    for (; *list != NULL; list++) {
        ik_buffer_append_format(&names, "%s ", *list);
    }
    ck_assert_str_eq(names.data, expected);
}

START_TEST(every_key_can_be_set_by_the_user)
{
    ik_buffer_t text;
    ik_buffer_init(&text, NULL, IK_CONFIG_FILE_MAX);
    ik_buffer_append_text(&text,
                          "{\"model\":\"box/qwen/3:8b\",\"effort\":\"high\","
                          "\"db\":\"postgresql://h/d\",\"system_prompt\":\"be\\nbrief\","
                          "\"writable\":[\"/w\"],\"hidden\":[],\"caches\":[\"~/c\",\"/d/\"],"
                          "\"pass_env\":[\"A_TOKEN\"],\"theme\":\"light\","
                          "\"limits\":{\"memory\":1,\"file_size\":2,\"processes\":3,"
                          "\"cpu_seconds\":4},"
                          "\"providers\":{\"box\":{\"type\":\"anthropic\","
                          "\"base_url\":\"http://box:8080/\",\"api_key_env\":\"TEST_KEY\"},"
                          "\"openai\":{\"api\":\"chat\"}},"
                          "\"tools\":{\"file-read\":{\"timeout_seconds\":10,\"enabled\":false,"
                          "\"pass_env\":[\"TEST_KEY\",\"HOME\"],\"env\":{\"A\":\"b\"},"
                          "\"limits\":{\"memory\":5,\"file_size\":6,\"processes\":7,"
                          "\"cpu_seconds\":0}}},"
                          "\"hooks\":{\"guard.sh\":{\"on_failure\":\"block\","
                          "\"tools\":[\"bash\",\"file_*\"],\"timeout_seconds\":12}}");
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strchr(numbers[i].key, '.') == NULL) {
            ik_buffer_append_format(&text, ",\"%s\":%ld", numbers[i].key, numbers[i].set);
        }
    }
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        ik_buffer_append_format(&text, ",\"%s\":\"%s\"", choices[i].key, choices[i].text);
    }
    ik_buffer_append_text(&text, "}");
    scratch_write("user.json", text.data);
    ik_buffer_reset(&text);
    setenv("HOME", "/home/u", 1);
    load_good();
    ck_assert_uint_eq(config->warning_count, 0);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        ck_assert_msg(number_at(i) == numbers[i].set, "%s", numbers[i].key);
    }
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        ck_assert_msg(choice_at(i) == choices[i].set, "%s", choices[i].key);
    }
    ck_assert_str_eq(config->model, "box/qwen/3:8b");
    ck_assert_str_eq(config->effort, "high");
    ck_assert_str_eq(config->db, "postgresql://h/d");
    ck_assert_str_eq(config->system_prompt, "be\nbrief");
    assert_list(config->writable, "/w ");
    assert_list(config->hidden, "");
    assert_list(config->caches, "/home/u/c /d/ ");
    assert_list(config->pass_env, "A_TOKEN ");
    ck_assert_int_eq(config->colours.base, IK_CONFIG_THEME_LIGHT);
    const ik_config_provider_t *box = ik_config_provider(config, "box");
    ck_assert_int_eq(box->type, IK_CONFIG_TYPE_ANTHROPIC);
    ck_assert_int_eq(box->api, IK_CONFIG_API_NONE);
    ck_assert_str_eq(box->base_url, "http://box:8080");
    ck_assert_str_eq(box->api_key_env, "TEST_KEY");
    ck_assert_int_eq(ik_config_provider(config, "openai")->api, IK_CONFIG_API_CHAT);
    const ik_config_tool_t *tool = ik_config_tool(config, "file_read");
    ck_assert_int_eq(tool->timeout_seconds, 10);
    ck_assert(!tool->enabled);
    assert_list(tool->pass_env, "TEST_KEY HOME ");
    assert_list(tool->env, "A=b ");
    const ik_config_hook_t *hook = ik_config_hook(config, "guard.sh");
    ck_assert_int_eq(hook->on_failure, IK_CONFIG_ON_FAILURE_BLOCK);
    assert_list(hook->tools, "bash file_* ");
    ck_assert_int_eq(hook->timeout_seconds, 12);
    ck_assert_ptr_null(ik_config_hook(config, "guard"));

    /* In all four sections, every key in the file above must come from "user". */
    for (size_t i = 0; i < IK_CONFIG_KEY_COUNT; i++) {
        const ik_config_key_t *key = &ik_config_keys[i];
        const void *data = key->section == IK_CONFIG_TOP        ? (const void *)config
                           : key->section == IK_CONFIG_PROVIDER ? (const void *)box
                           : key->section == IK_CONFIG_HOOK     ? (const void *)hook
                                                                : (const void *)tool;
        bool left_out = strcmp(key->name, "api") == 0;
        ck_assert_msg(ik_config_key_source(key, data) ==
                          (left_out ? IK_CONFIG_BUILT_IN : IK_CONFIG_USER),
                      "%s", key->name);
    }
}
END_TEST

START_TEST(later_layers_beat_earlier_ones)
{
    scratch_write("system.json",
                  "{\"model\":\"openai/s\",\"db\":\"/s\",\"max_tool_turns\":1,"
                  "\"effort\":\"low\",\"tools\":{\"bash\":{\"timeout_seconds\":1}}}");
    load_good();
    ck_assert_str_eq(config->model, "openai/s");
    ck_assert_int_eq(source_of("model"), IK_CONFIG_SYSTEM);
    scratch_write("user.json", "{\"model\":\"openai/u\",\"db\":\"/u\",\"max_tool_turns\":2,"
                               "\"tools\":{\"bash\":{\"pass_env\":[]}}}");
    load_good();
    ck_assert_str_eq(config->model, "openai/u");
    ck_assert_str_eq(config->db, "/u");
    ck_assert_str_eq(config->effort, "low");
    ck_assert_int_eq(ik_config_tool(config, "bash")->timeout_seconds, 1);
    ck_assert_int_eq(source_of("model"), IK_CONFIG_USER);
    ck_assert_int_eq(source_of("effort"), IK_CONFIG_SYSTEM);
    setenv("OPENAI_API_KEY", "k", 1);
    scratch_write("project.json", "{\"model\":\"openai/p\",\"max_tool_turns\":3}");
    load_good();
    ck_assert_str_eq(config->model, "openai/p");
    ck_assert_int_eq(config->max_tool_turns, 3);
    ck_assert_int_eq(source_of("max_tool_turns"), IK_CONFIG_PROJECT);
    setenv("IKIGAI_MODEL", "openai/e", 1);
    setenv("IKIGAI_DB", "/e", 1);
    load_good();
    ck_assert_str_eq(config->model, "openai/e");
    ck_assert_str_eq(config->db, "/e");
    ck_assert_int_eq(source_of("db"), IK_CONFIG_ENVIRONMENT);
    load_with(&(ik_config_flags_t){.model = "offline/offline", .db = "/f", .max_tool_turns = 4});
    ck_assert(is_ok(&result));
    ck_assert_str_eq(config->model, "offline/offline");
    ck_assert_str_eq(config->db, "/f");
    ck_assert_int_eq(config->max_tool_turns, 4);
    ck_assert_int_eq(source_of("model"), IK_CONFIG_FLAG);
    ck_assert_int_eq(source_of("max_tool_turns"), IK_CONFIG_FLAG);
}
END_TEST

START_TEST(empty_variables_count_as_unset)
{
    setenv("IKIGAI_MODEL", "", 1);
    setenv("OPENAI_BASE_URL", "", 1);
    setenv("OPENAI_API_KEY", "", 1);
    load_good();
    ck_assert_ptr_null(config->model);
    ck_assert(!ik_config_provider(config, "openai")->configured);
    ck_assert_str_eq(ik_config_provider(config, "openai")->base_url, "https://api.openai.com/v1");
}
END_TEST

/* Uses a copy, because the tree may belong to another user. Tests run in the tree's root. */
START_TEST(the_shipped_file_is_accepted_and_hides_no_default)
{
    char *text;
    size_t len;
    result = ik_file_read(NULL, "etc/ikigai/config.json", IK_CONFIG_FILE_MAX, &text, &len);
    ck_assert_msg(is_ok(&result), "%s", result.message);
    scratch_write("system.json", text);
    talloc_free(text);
    load_good();
    ck_assert_uint_eq(config->warning_count, 0);
    for (size_t i = 0; i < IK_CONFIG_KEY_COUNT; i++) {
        ck_assert_int_eq(config->sources[i], IK_CONFIG_BUILT_IN);
    }
}
END_TEST

/* --- errors and warnings ----------------------------------------------------------------- */

/* What the user's file may not say. */
START_TEST(faults_are_errors)
{
    static const fault_t faults[] = {
        {3, "{\n\"model\": \"openai/x\",\n}", "broken JSON"},
        {1, "", "broken JSON"},
        {3, "{}\n\n{}", "text after the value"},
        {1, "[]", "must be an object"},
        {2, "\n\"text\"", "must be an object"},
        {2, "{\"model\":\n\"\xff\"}", "UTF-8"},
        {1, "{\"model\":\"open\nai\"}", "control character"},
        /* types and values */
        {2, "{\n \"model\": 5}", "model must be a string"},
        {1, "{\"model\":null}", "model must be a string"},
        {1, "{\"model\":\"\"}", "model must not be empty"},
        {1, "{\"db\":\"a\\u0000b\"}", "must not contain \\u0000"},
        {1, "{\"db\":\"a\\nb\"}", "control characters"},
        {3, "{\n\n\"max_tool_turns\":\"5\"}", "max_tool_turns must be a whole number"},
        {1, "{\"max_tool_turns\":5.0}", "whole number"},
        {1, "{\"max_tool_turns\":1e3}", "whole number"},
        {1, "{\"max_tool_turns\":true}", "whole number"},
        {1, "{\"providers\":[]}", "providers must be an object"},
        {1, "{\"providers\":{\"openai\":\"x\"}}", "providers.openai must be an object"},
        {1, "{\"tools\":5}", "tools must be an object"},
        {2, "{\"tools\":{\"bash\":\n[]}}", "tools.bash must be an object"},
        {1, "{\"tools\":{\"bash\":{\"enabled\":\"no\"}}}",
         "tools.bash.enabled must be true or false"},
        {1, "{\"tools\":{\"bash\":{\"pass_env\":\"X\"}}}", "array of strings"},
        {2, "{\"tools\":{\"bash\":{\"pass_env\":[\"X\",\n5]}}}", "must be a string"},
        {1, "{\"tools\":{\"bash\":{\"pass_env\":[\"A=B\"]}}}", "environment variable"},
        {1, "{\"pass_env\":{}}", "pass_env must be an array of strings"},
        {1, "{\"writable\":\"/x\"}", "writable must be an array of strings"},
        {2, "{\"hidden\":[\"/x\",\n\"x\"]}", "each of hidden must begin with / or ~/"},
        {1, "{\"caches\":[\"~user/x\"]}", "each of caches must begin with / or ~/"},
        {1, "{\"caches\":[\"\"]}", "each of caches must not be empty"},
        {1, "{\"caches\":[\"/\"]}", "each of caches must not be /"},
        {1, "{\"hidden\":[\"//\"]}", "each of hidden must not be /"},
        {1, "{\"limits\":5}", "limits must be an object"},
        {2, "{\"limits\":{\n\"memory\":\"1G\"}}", "limits.memory must be a whole number"},
        {1, "{\"hooks\":[]}", "hooks must be an object"},
        {1, "{\"hooks\":{\"x\":1}}", "hooks.x must be an object"},
        {1, "{\"hooks\":{\"x\":{\"on_failure\":true}}}",
         "hooks.x.on_failure must be \"go_on\" or \"block\""},
        {1, "{\"hooks\":{\"x\":{\"tools\":\"bash\"}}}",
         "hooks.x.tools must be an array of strings"},
        {1, "{\"hooks\":{\"x\":{\"tools\":[1]}}}", "each of hooks.x.tools must be a string"},
        {1, "{\"hooks\":{\"x\":{\"timeout_seconds\":0}}}",
         "hooks.x.timeout_seconds must be from 1 to 86400"},
        {1, "{\"hook_timeout_seconds\":1.5}", "hook_timeout_seconds must be a whole number"},
        {1, "{\"tools\":{\"bash\":{\"limits\":[]}}}", "tools.bash.limits must be an object"},
        {2, "{\"tools\":{\"bash\":{\"limits\":{\"cpu_seconds\":\n-1}}}}",
         "tools.bash.limits.cpu_seconds must be from 0"},
        {1, "{\"providers\":{\"openai\":{\"api_key_env\":\"sk-123\"}}}", "environment variable"},
        {1, "{\"providers\":{\"openai\":{\"base_url\":\"api.openai.com\"}}}", "http://"},
        {1, "{\"providers\":{\"openai\":{\"base_url\":\"http://\"}}}", "http://"},
        {1, "{\"providers\":{\"openai\":{\"api\":\"completions\"}}}",
         "must be \"chat\" or \"responses\""},
        {1, "{\"providers\":{\"x\":{\"type\":\"offline\",\"base_url\":\"http://h\"}}}",
         "must be \"openai\", \"anthropic\" or \"google\""},
        /* models */
        {2, "{\n\"model\":\"gpt\"}", "provider/model"},
        {1, "{\"model\":\"openai/\"}", "provider/model"},
        {1, "{\"model\":\"/gpt\"}", "provider/model"},
        {1, "{\"model\":\"nobody/x\"}", "no provider 'nobody'"},
        /* providers */
        {1, "{\"providers\":{\"a/b\":{}}}", "is not a valid provider name"},
        {2, "{\"providers\":{\n\"\":{}}}", "is not a valid provider name"},
        {1, "{\"providers\":{\"a b\":{}}}", "is not a valid provider name"},
        {3, "{\"providers\":{\n\n\"box\":{}}}", "providers.box needs a base_url"},
        /* variables of a tool */
        {1, "{\"tools\":{\"t\":{\"env\":[]}}}", "object of names and values"},
        {2, "{\"tools\":{\"t\":{\"env\":{\"A\":\n1}}}}", "tools.t.env.A must be a string"},
        {1, "{\"tools\":{\"t\":{\"env\":{\"A=B\":\"x\"}}}}", "not the name of an environment"},
        {1, "{\"tools\":{\"t\":{\"env\":{\"A\\u0000\":\"x\"}}}}", "not the name of an"},
        {1, "{\"tools\":{\"t\":{\"env\":{\"A\":\"file:x\"}}}}", "begins with / or ~/"},
        {1, "{\"tools\":{\"t\":{\"env\":{\"IKIGAI_HOME\":\"x\"}}}}", "reserved for ikigai"},
        /* themes */
        {2, "{\n\"theme\":\"drak\"}", "theme must be auto, dark, light, mono or a file"},
        {1, "{\"theme\":\"/nowhere/a.json\"}", "there is no /nowhere/a.json"},
        {1, "{\"theme\":\"/tmp\"}", "/tmp"},
    };
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        assert_fault("user.json", &faults[i]);
    }
}
END_TEST

START_TEST(numbers_out_of_range_are_errors)
{
    char text[300];
    char number[32];
    for (size_t i = 0; i < IK_CONFIG_KEY_COUNT; i++) {
        const ik_config_key_t *key = &ik_config_keys[i];
        if (key->type != IK_CONFIG_INTEGER || key->section != IK_CONFIG_TOP) {
            continue;
        }
        const long bad[] = {key->min - 1, key->max + 1, -1};
        for (size_t j = 0; j < 3; j++) {
            snprintf(number, sizeof(number), "%ld", bad[j]);
            snprintf(text, sizeof(text), "{%s}", format_member(key->name, number));
            assert_fault("user.json", &(fault_t){2, text, "must be from"});
        }
        snprintf(text, sizeof(text), "{%s}",
                 format_member(key->name, "99999999999999999999999999"));
        assert_fault("user.json", &(fault_t){2, text, "must be from"});
        const long good[] = {key->min, key->max};
        for (size_t j = 0; j < 2; j++) {
            snprintf(number, sizeof(number), "%ld", good[j]);
            snprintf(text, sizeof(text), "{%s}", format_member(key->name, number));
            scratch_write("user.json", text);
            load_good();
            ck_assert_int_eq(*(const long *)((const char *)config + key->offset), good[j]);
        }
    }
    load_with(&(ik_config_flags_t){.max_tool_turns = -1});
    ck_assert(is_err(&result));
    ck_assert_ptr_nonnull(strstr(result.message, "--max-turns: "));
}
END_TEST

START_TEST(an_error_keeps_the_rest)
{
    scratch_write("system.json", "{\"effort\":\"low\"}");
    scratch_write("user.json", "{\"effort\":5,\n\"db\":7,\n\"max_tool_turns\":9}");
    load();
    ck_assert(is_err(&result));
    ck_assert_ptr_nonnull(strstr(result.message, "effort must be a string"));
    ck_assert_str_eq(config->effort, "low");
    ck_assert_int_eq(source_of("effort"), IK_CONFIG_SYSTEM);
    ck_assert_int_eq(config->max_tool_turns, 9);
    assert_warning("user.json", 2, "db must be a string"); /* the second error */
}
END_TEST

START_TEST(unknown_and_repeated_keys_are_warnings)
{
    scratch_write("user.json", "{\n\"modle\": \"x\",\n\"effort\":\"a\",\n\"effort\":\"b\",\n"
                               "\"providers\":{\"openai\":{\"api_key\":\"sk-canary\"}},\n"
                               "\"tools\":{\"bash\":{\"colour\":1},\"bash\":{\"enabled\":false}},\n"
                               "\"\\u001b[2J\\u0085\":1,\n\"effort\\u0000\":\"c\",\n"
                               "\"\\u0065ffort\":\"last\"}");
    load_good();
    ck_assert_str_eq(config->effort, "last");
    ck_assert(!ik_config_tool_enabled(config, "bash"));
    assert_warning("user.json", 2, "unknown key modle");
    assert_warning("user.json", 3, "'effort' appears more than once");
    assert_warning("user.json", 4, "'effort' appears more than once");
    assert_warning("user.json", 5, "unknown key providers.openai.api_key");
    assert_warning("user.json", 6, "'bash' appears more than once");
    assert_warning("user.json", 7, "unknown key ?[2J??");
    assert_warning("user.json", 8, "unknown key with \\u0000");
    ck_assert_uint_eq(config->warning_count, 7);
    for (size_t i = 0; i < config->warning_count; i++) {
        ck_assert_ptr_null(strstr(config->warnings[i], "canary"));
    }
}
END_TEST

START_TEST(warnings_are_bounded)
{
    ik_buffer_t text;
    ik_buffer_init(&text, NULL, IK_CONFIG_FILE_MAX);
    ik_buffer_append_text(&text, "{\"a\":0");
    while (text.len < IK_CONFIG_FILE_MAX - 20) {
        ik_buffer_append_format(&text, ",\n\"%zx\":0", text.len % 65536);
    }
    ik_buffer_append_text(&text, "}");
    scratch_write("project.json", text.data);
    ik_buffer_reset(&text);
    load_good();
    ck_assert_uint_eq(config->warning_count, IK_CONFIG_WARNING_MAX);
    ck_assert_ptr_nonnull(strstr(config->warnings[IK_CONFIG_WARNING_MAX - 1], "left out"));
}
END_TEST

START_TEST(entries_are_bounded)
{
    ik_buffer_t text;
    ik_buffer_init(&text, NULL, IK_CONFIG_FILE_MAX);
    ik_buffer_append_text(&text, "{\"tools\":{\"t\":{}");
    for (int i = 0; i < 30000; i++) {
        ik_buffer_append_format(&text, ",\"t%d\":{\"enabled\":false}", i);
    }
    ik_buffer_append_text(&text, "}}");
    scratch_write("project.json", text.data);
    ik_buffer_reset(&text);
    load_good();
    ck_assert_uint_eq(config->tool_count, IK_CONFIG_ENTRY_MAX);
    ck_assert_uint_le(config->warning_count, IK_CONFIG_WARNING_MAX);
    ck_assert_int_eq(rename(scratch_path("project.json"), scratch_path("user.json")), 0);
    load();
    ck_assert_int_eq(result.code, IK_ERR_LIMIT);
}
END_TEST

/* --- files ------------------------------------------------------------------------------- */

START_TEST(files_others_may_write_are_refused)
{
    static const char *const files[] = {"system.json", "user.json"};
    for (size_t i = 0; i < 2; i++) {
        const char *path = scratch_write(files[i], "{\"max_tool_turns\":7}");
        chmod(path, 0666);
        load();
        ck_assert_int_eq(result.code, IK_ERR_DENIED);
        ck_assert_msg(strstr(result.message, path) != NULL, "%s", result.message);
        ck_assert_msg(strstr(result.message, "chmod o-w") != NULL, "%s", result.message);
        ck_assert_int_eq(config->max_tool_turns, 50);
        chmod(path, 0644);
        load_good();
        ck_assert_int_eq(config->max_tool_turns, 7);
        unlink(path);
    }
    scratch_make_folder("open");
    paths.user_config = scratch_write("open/config.json", "{}");
    chmod(scratch_path("open"), 0777);
    load();
    ck_assert_int_eq(result.code, IK_ERR_DENIED);
    ck_assert_ptr_nonnull(strstr(result.message, "chmod o-w"));
    chmod(scratch_path("open"), 01777); /* as /tmp, which must stay so */
    load();
    ck_assert_int_eq(result.code, IK_ERR_DENIED);
    ck_assert_ptr_nonnull(strstr(result.message, "can be changed by everyone"));
    ck_assert_ptr_null(strstr(result.message, "chmod"));
}
END_TEST

/* A project folder of another user must not keep ikigai from starting. */
START_TEST(a_project_file_others_may_write_is_left_out)
{
    const char *path = scratch_write("project.json", "{\"max_tool_turns\":7}");
    chmod(path, 0666);
    load_good();
    ck_assert_int_eq(config->max_tool_turns, 50);
    ck_assert_uint_eq(config->warning_count, 1);
    ck_assert_msg(strstr(config->warnings[0], path) != NULL, "%s", config->warnings[0]);
    ck_assert_ptr_nonnull(strstr(config->warnings[0], "chmod o-w"));
    chmod(path, 0644);
    load_good();
    ck_assert_int_eq(config->max_tool_turns, 7);
}
END_TEST

START_TEST(unreadable_and_oversized_files_are_errors)
{
    scratch_make_folder("user.json");
    load();
    ck_assert_int_eq(result.code, IK_ERR_INVALID);
    rmdir(scratch_path("user.json"));
    ck_assert_int_eq(mkfifo(scratch_path("user.json"), 0600), 0);
    load(); /* must not hang */
    ck_assert_int_eq(result.code, IK_ERR_INVALID);
    unlink(scratch_path("user.json"));

    char *spaces = ik_new_array(NULL, char, IK_CONFIG_FILE_MAX + 2);
    memset(spaces, ' ', IK_CONFIG_FILE_MAX + 1);
    spaces[0] = '{';
    spaces[1] = '}';
    scratch_write("user.json", spaces);
    load();
    ck_assert_int_eq(result.code, IK_ERR_LIMIT);
    spaces[IK_CONFIG_FILE_MAX] = '\0';
    scratch_write("user.json", spaces);
    load_good();
    talloc_free(spaces);
    if (geteuid() != 0) {
        chmod(scratch_path("user.json"), 0);
        load();
        ck_assert_int_eq(result.code, IK_ERR_DENIED);
    }
}
END_TEST

START_TEST(paths_may_be_missing)
{
    paths.project_config = NULL;
    load_good();
    ck_assert_int_eq(config->max_tool_turns, 50);
}
END_TEST

/* --- projects ---------------------------------------------------------------------------- */

/* Sets every key from a project's file: a forbidden key has no effect and is reported. */
START_TEST(a_project_sets_only_what_the_table_allows)
{
    static const char *const forms[] = {
        [IK_CONFIG_LINE] = "\"offline/x\"",
        [IK_CONFIG_TEXT] = "\"evil\"",
        [IK_CONFIG_URL] = "\"http://evil\"",
        [IK_CONFIG_VARIABLE] = "\"HOME\"",
        [IK_CONFIG_INTEGER] = "77",
        [IK_CONFIG_BOOLEAN] = "false",
        [IK_CONFIG_CHOICE] = "\"openai\"",
        [IK_CONFIG_NAMES] = "[\"OPENAI_API_KEY\"]",
        [IK_CONFIG_VALUES] = "{\"LD_PRELOAD\":\"/evil.so\"}",
        [IK_CONFIG_PATHS] = "[\"/\"]",
        [IK_CONFIG_PATTERNS] = "[\"*\"]",
    };
    static const char *const honoured[] = {"model", "max_tool_turns", "max_output_size", "enabled"};
    size_t honoured_count = 0;
    char text[512];
    char words[256];
    for (size_t i = 0; i < IK_CONFIG_KEY_COUNT; i++) {
        const ik_config_key_t *key = &ik_config_keys[i];
        bool closed = key->section == IK_CONFIG_PROVIDER || key->section == IK_CONFIG_HOOK;
        const char *outer = key->section == IK_CONFIG_PROVIDER ? "providers"
                            : key->section == IK_CONFIG_HOOK   ? "hooks"
                                                               : "tools";
        const char *entry = key->section == IK_CONFIG_PROVIDER ? "openai" : "bash";
        if (key->section == IK_CONFIG_TOP) {
            snprintf(text, sizeof(text), "{%s}", format_member(key->name, forms[key->type]));
            snprintf(words, sizeof(words), "%s is not honoured", key->name);
        } else {
            snprintf(text, sizeof(text), "{\"%s\":{\"%s\":{%s}}}", outer, entry,
                     format_member(key->name, forms[key->type]));
            snprintf(words, sizeof(words), "%s.%s.%s is not honoured", outer, entry, key->name);
        }
        bool allowed = false;
        for (size_t j = 0; j < 4; j++) {
            allowed = allowed || strcmp(honoured[j], key->name) == 0;
        }
        scratch_write("project.json", text);
        load_good();
        if (allowed) {
            honoured_count++;
            ck_assert_uint_eq(config->warning_count, 0);
            continue;
        }
        ck_assert_uint_eq(config->warning_count, 1);
        if (closed) {
            snprintf(words, sizeof(words), "%s is not honoured", outer);
            assert_warning("project.json", 1, words);
            ck_assert_uint_eq(config->hook_count, 0);
        } else {
            assert_warning("project.json", 2, words);
        }
        ck_assert_uint_eq(config->provider_count, 9);
        ck_assert_str_eq(ik_config_provider(config, "openai")->base_url,
                         "https://api.openai.com/v1");
        for (size_t j = 0; j < IK_CONFIG_KEY_COUNT; j++) {
            ck_assert_int_eq(config->sources[j], IK_CONFIG_BUILT_IN);
            ck_assert(config->tool_count == 0 ||
                      config->tools[0]->sources[j] == IK_CONFIG_BUILT_IN);
        }
    }
    ck_assert_uint_eq(honoured_count, 4);
}
END_TEST

START_TEST(a_project_only_lowers_and_disables)
{
    scratch_write("user.json",
                  "{\"max_output_size\":1000,\"tools\":{\"bash\":{\"enabled\":false}}}");
    scratch_write("project.json", "{\"max_output_size\":1001,\n"
                                  "\"tools\":{\"bash\":{\"enabled\":true},\n"
                                  "\"grep\":{\"enabled\":false}}}");
    load_good();
    ck_assert_int_eq(config->max_output_size, 1000);
    ck_assert_int_eq(source_of("max_output_size"), IK_CONFIG_USER);
    ck_assert(!ik_config_tool_enabled(config, "bash"));
    ck_assert(!ik_config_tool_enabled(config, "grep"));
    ck_assert(ik_config_tool_enabled(config, "glob"));
    assert_warning("project.json", 1, "not honoured");
    assert_warning("project.json", 2, "tools.bash.enabled: true is not honoured");
    scratch_write("project.json", "{\"max_output_size\":999}");
    load_good();
    ck_assert_int_eq(config->max_output_size, 999);
    ck_assert_int_eq(source_of("max_output_size"), IK_CONFIG_PROJECT);
}
END_TEST

START_TEST(a_project_names_models_of_configured_providers_only)
{
    scratch_write("user.json", "{\"model\":\"offline/offline\"}");
    static const char *const refused[] = {"anthropic/claude", "nowhere/x", "plain"};
    char text[64];
    for (size_t i = 0; i < 3; i++) {
        snprintf(text, sizeof(text), "{\n\"model\":\"%s\"}", refused[i]);
        scratch_write("project.json", text);
        load_good();
        ck_assert_str_eq(config->model, "offline/offline");
        ck_assert_int_eq(source_of("model"), IK_CONFIG_USER);
        assert_warning("project.json", 2, refused[i]);
    }
    setenv("ANTHROPIC_API_KEY", "k", 1);
    scratch_write("project.json", "{\"model\":\"anthropic/claude\"}");
    load_good();
    ck_assert_str_eq(config->model, "anthropic/claude");
}
END_TEST

/* --- models and providers ---------------------------------------------------------------- */

START_TEST(models_need_a_known_provider)
{
    setenv("IKIGAI_MODEL", "nobody/x", 1);
    load();
    ck_assert_ptr_nonnull(strstr(result.message, "IKIGAI_MODEL: "));
    ck_assert_ptr_null(config->model);
    unsetenv("IKIGAI_MODEL");
    load_with(&(ik_config_flags_t){.model = "x"});
    ck_assert_ptr_nonnull(strstr(result.message, "-m: "));

    const ik_config_provider_t *provider;
    const char *name;
    result = ik_config_resolve_model(config, "google/a/b", &provider, &name);
    ck_assert(is_ok(&result));
    ck_assert_str_eq(provider->name, "google");
    ck_assert_str_eq(name, "a/b");
}
END_TEST

START_TEST(the_model_may_come_before_its_provider)
{
    scratch_write("system.json", "{\"model\":\"late/m\"}");
    scratch_write("user.json", "{\"providers\":{\"late\":{\"base_url\":\"http://h/v1\"}}}");
    load_good();
    ck_assert_str_eq(config->model, "late/m");
    ck_assert_int_eq(source_of("model"), IK_CONFIG_SYSTEM);
}
END_TEST

START_TEST(a_built_in_provider_keeps_its_type)
{
    static const fault_t fault = {2, "{\"providers\":{\"openai\":\n{\"type\":\"google\"}}}",
                                  "built in"};
    assert_fault("user.json", &fault);
    ck_assert_int_eq(ik_config_provider(config, "openai")->type, IK_CONFIG_TYPE_OPENAI);
    scratch_write("user.json", "{\"providers\":{\"openai\":{\"type\":\"openai\"},\n"
                               "\"offline\":{\"type\":\"openai\"}}}");
    load_good();
    assert_warning("user.json", 2, "nothing to configure");
}
END_TEST

START_TEST(built_in_providers_are_configured_by_their_keys)
{
    load_good();
    ck_assert(!ik_config_provider(config, "openai")->configured);
    ck_assert(!ik_config_provider(config, "anthropic")->configured);
    ck_assert(!ik_config_provider(config, "google")->configured);
    ck_assert(ik_config_provider(config, "offline")->configured);
    ck_assert_ptr_null(ik_config_provider(config, "offline")->base_url);
    ck_assert_ptr_null(ik_config_provider(config, "nobody"));
    setenv("OPENAI_API_KEY", "o", 1);
    setenv("ANTHROPIC_API_KEY", " a\n", 1);
    setenv("GOOGLE_API_KEY", "g", 1);
    load_good();
    ck_assert_str_eq(ik_config_provider(config, "openai")->api_key, "o");
    ck_assert_str_eq(ik_config_provider(config, "anthropic")->api_key, "a");
    ck_assert_str_eq(ik_config_provider(config, "google")->api_key, "g");
    ck_assert_str_eq(ik_config_provider(config, "google")->api_key_env, "GOOGLE_API_KEY");
    setenv("GEMINI_API_KEY", "first", 1);
    load_good();
    ck_assert_str_eq(ik_config_provider(config, "google")->api_key, "first");
    setenv("GEMINI_API_KEY", "a\r\nX-Evil: 1", 1);
    load_good();
    ck_assert(!ik_config_provider(config, "google")->configured);
    ck_assert_uint_eq(config->warning_count, 1);
    ck_assert_ptr_null(strstr(config->warnings[0], "Evil"));
}
END_TEST

START_TEST(a_key_variable_of_ones_own_replaces_both)
{
    scratch_write("user.json", "{\"providers\":{\"google\":{\"api_key_env\":\"TEST_KEY\"}}}");
    setenv("GOOGLE_API_KEY", "g", 1);
    load_good();
    ck_assert(!ik_config_provider(config, "google")->configured);
    setenv("TEST_KEY", "mine", 1);
    load_good();
    ck_assert_str_eq(ik_config_provider(config, "google")->api_key, "mine");
}
END_TEST

START_TEST(named_endpoints)
{
    scratch_write("user.json",
                  "{\"providers\":{\"ollama\":{\"base_url\":\"http://localhost:11434/v1\"},\n"
                  "\"keyed\":{\"base_url\":\"https://h/v1//\",\"api_key_env\":\"TEST_KEY\","
                  "\"api\":\"responses\"},\n"
                  "\"ant\":{\"type\":\"anthropic\",\"base_url\":\"https://h\",\"api\":\"chat\"}}}");
    load_good();
    const ik_config_provider_t *ollama = ik_config_provider(config, "ollama");
    ck_assert_int_eq(ollama->type, IK_CONFIG_TYPE_OPENAI);
    ck_assert_int_eq(ollama->api, IK_CONFIG_API_CHAT);
    ck_assert(ollama->configured && !ollama->built_in);
    ck_assert_ptr_null(ollama->api_key);
    const ik_config_provider_t *keyed = ik_config_provider(config, "keyed");
    ck_assert_int_eq(keyed->api, IK_CONFIG_API_RESPONSES);
    ck_assert_str_eq(keyed->base_url, "https://h/v1");
    ck_assert(!keyed->configured);
    assert_warning("user.json", 3, "providers.ant.api has no effect");
    setenv("TEST_KEY", "k", 1);
    load_good();
    ck_assert(ik_config_provider(config, "keyed")->configured);
}
END_TEST

START_TEST(the_openai_api_follows_the_host)
{
    static const struct {
        const char *url;
        int api;
    } cases[] = {
        {"https://api.openai.com/v1", IK_CONFIG_API_RESPONSES},
        {"https://API.OpenAI.com:443/v1", IK_CONFIG_API_RESPONSES},
        {"https://api.openai.com", IK_CONFIG_API_RESPONSES},
        {"https://api.openai.com.evil.example/v1", IK_CONFIG_API_CHAT},
        {"https://me:pw@api.openai.com/v1", IK_CONFIG_API_RESPONSES},
        {"https://api.openai.net/v1", IK_CONFIG_API_CHAT},
        {"https://api.openai.com@evil.example/v1", IK_CONFIG_API_CHAT},
        {"https://api.openai.com:x@evil.example/v1", IK_CONFIG_API_CHAT},
        {"https://proxy.example/api.openai.com", IK_CONFIG_API_CHAT},
        {"http://localhost:8080/v1", IK_CONFIG_API_CHAT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        setenv("OPENAI_BASE_URL", cases[i].url, 1);
        load_good();
        const ik_config_provider_t *openai = ik_config_provider(config, "openai");
        ck_assert_str_eq(openai->base_url, cases[i].url);
        ck_assert_msg(openai->api == cases[i].api, "%s", cases[i].url);
    }
    scratch_write("user.json", "{\"providers\":{\"openai\":{\"api\":\"responses\"}}}");
    load_good();
    ck_assert_int_eq(ik_config_provider(config, "openai")->api, IK_CONFIG_API_RESPONSES);
}
END_TEST

START_TEST(base_urls_come_from_the_environment)
{
    setenv("ANTHROPIC_BASE_URL", "http://a/", 1);
    setenv("GEMINI_BASE_URL", "http://g", 1);
    load_good();
    ck_assert_str_eq(ik_config_provider(config, "anthropic")->base_url, "http://a");
    ck_assert_str_eq(ik_config_provider(config, "google")->base_url, "http://g");
    const ik_config_key_t *key = ik_config_find_key(IK_CONFIG_PROVIDER, "base_url");
    ck_assert_int_eq(ik_config_key_source(key, ik_config_provider(config, "google")),
                     IK_CONFIG_ENVIRONMENT);
    setenv("GEMINI_BASE_URL", "ftp://g", 1);
    load();
    ck_assert(is_err(&result));
    ck_assert_ptr_nonnull(strstr(result.message, "GEMINI_BASE_URL: "));
    ck_assert_str_eq(ik_config_provider(config, "google")->base_url,
                     "https://generativelanguage.googleapis.com");
}
END_TEST

/* --- keys in the environment ------------------------------------------------------------- */

static bool is_in_environment(const char *text)
{
    for (char **entry = environ; *entry != NULL; entry++) {
        if (strstr(*entry, text) != NULL) {
            return true;
        }
    }
    return false;
}

START_TEST(scrubbing_removes_every_key_and_nothing_else)
{
    scratch_write("system.json", "{\"providers\":{\"box\":{\"base_url\":\"http://h\","
                                 "\"api_key_env\":\"OTHER_KEY\"}}}");
    scratch_write("user.json", "{\"providers\":{\"box\":{\"api_key_env\":\"TEST_KEY\"}}}");
    static const char *const names[] = {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY",
                                        "GOOGLE_API_KEY", "TEST_KEY",          "OTHER_KEY"};
    for (size_t i = 0; i < 6; i++) {
        setenv(names[i], "canary-5f1e", 1);
    }
    setenv("TEST_KEY_2", "stays", 1);
    load_good();
    char *block = getenv("OPENAI_API_KEY"); /* the bytes that /proc would show */
    ik_config_scrub_environment(config);
    ck_assert_mem_eq(block, "\0\0\0\0\0\0\0\0\0\0\0", 11);
    ck_assert(!is_in_environment("canary-5f1e"));
    for (size_t i = 0; i < 6; i++) {
        ck_assert_ptr_null(getenv(names[i]));
    }
    ck_assert_str_eq(getenv("TEST_KEY_2"), "stays");
    ck_assert_str_eq(ik_config_provider(config, "openai")->api_key, "canary-5f1e");
    ck_assert_str_eq(ik_config_provider(config, "box")->api_key, "canary-5f1e");
    ik_config_scrub_environment(config);
    unsetenv("TEST_KEY_2");
}
END_TEST

/* A configuration for another project is loaded when the keys are no longer in the environment. */
START_TEST(loading_again_keeps_scrubbed_keys)
{
    scratch_write("user.json", "{\"providers\":{\"box\":{\"base_url\":\"http://h\","
                               "\"api_key_env\":\"TEST_KEY\"}}}");
    setenv("OPENAI_API_KEY", "canary-openai", 1);
    setenv("TEST_KEY", "canary-box", 1);
    load_good();
    ik_config_scrub_environment(config);
    ik_config_t *again;
    res_t loaded = ik_config_load_again(config, &paths, NULL, config, &again);
    ck_assert(is_ok(&loaded));
    ck_assert_str_eq(ik_config_provider(again, "openai")->api_key, "canary-openai");
    ck_assert_str_eq(ik_config_provider(again, "box")->api_key, "canary-box");
    ck_assert_ptr_ne(ik_config_provider(again, "box")->api_key,
                     ik_config_provider(config, "box")->api_key);
}
END_TEST

/* A parent can pass the same name twice; getenv sees the first, /proc both. */
START_TEST(scrubbing_finds_repeated_variables)
{
    static char first[] = "OPENAI_API_KEY=canary-one";
    static char second[] = "OPENAI_API_KEY=canary-two";
    static char other[] = "PATH=/bin";
    char *block[] = {first, other, second, NULL};
    char **saved = environ;
    environ = block;
    load();
    ik_config_scrub_environment(config);
    ck_assert_ptr_null(getenv("OPENAI_API_KEY"));
    ck_assert_str_eq(getenv("PATH"), "/bin");
    environ = saved;
    ck_assert_str_eq(first, "OPENAI_API_KEY=");
    ck_assert_str_eq(second, "OPENAI_API_KEY=");
    ck_assert_int_eq(second[20], '\0');
}
END_TEST

START_TEST(pass_env_gives_scrubbed_variables_back)
{
    scratch_write("user.json", "{\"tools\":{\"ask-model\":{\"pass_env\":[\"OPENAI_API_KEY\","
                               "\"HOME\",\"GEMINI_API_KEY\"]}}}");
    setenv("OPENAI_API_KEY", " sk=1 ", 1);
    load_good();
    ik_config_scrub_environment(config);
    char **entries = ik_config_tool_environment(config, config, "ask_model", false);
    ck_assert_str_eq(entries[0], "OPENAI_API_KEY= sk=1 "); /* not trimmed */
    ck_assert_ptr_null(entries[1]);
    entries = ik_config_tool_environment(config, config, "bash", false);
    ck_assert_ptr_null(entries[0]);
}
END_TEST

START_TEST(variables_are_held_back_by_their_name)
{
    static const char *const held[] = {"IKIGAI_DB", "PGPASSWORD", "A_API_KEY",   "GITHUB_TOKEN",
                                       "_TOKEN",    "A_SECRET_B", "MY_PASSWORD", "X_SECRET"};
    static const char *const passed[] = {"IKIGAI_DB2", "TOKEN",   "A_TOKENS", "PASSWORD",
                                         "SECRET_A",   "a_token", "",         "API_KEY"};
    for (size_t i = 0; i < 8; i++) {
        ck_assert_msg(ik_config_secret_is_held_back(held[i], strlen(held[i])), "%s", held[i]);
        ck_assert_msg(!ik_config_secret_is_held_back(passed[i], strlen(passed[i])), "%s",
                      passed[i]);
    }
}
END_TEST

START_TEST(what_is_held_back_is_given_to_those_who_are_named)
{
    static char path[] = "PATH=/bin";
    static char token[] = "B_TOKEN=t";
    static char key[] = "TEST_KEY=k";
    static char empty[] = "A_SECRET=";
    static char odd[] = "Z_TOKEN"; /* an entry without a value */
    char *block[] = {path, token, key, empty, odd, NULL};
    char **saved = environ;
    scratch_write(
        "user.json",
        "{\"pass_env\":[\"A_SECRET\",\"PATH\",\"C_TOKEN\"],"
        "\"providers\":{\"box\":{\"base_url\":\"http://h\",\"api_key_env\":\"TEST_KEY\"}},"
        "\"tools\":{\"t\":{\"pass_env\":[\"B_TOKEN\",\"TEST_KEY\"]}}}");
    environ = block;
    load_good();
    ik_config_scrub_environment(config);
    char **kept = ik_config_secret_environment(config);
    char **of_tool = ik_config_tool_environment(config, config, "t", false);
    char **of_other = ik_config_tool_environment(config, config, "bash", false);
    char **of_user = ik_config_tool_environment(config, config, "bash", true);
    const char **held = ik_config_secret_list_held_back(config, config);
    environ = saved;
    assert_list((const char *const *)kept, "PATH=/bin ");
    assert_list((const char *const *)of_tool, "A_SECRET= B_TOKEN=t TEST_KEY=k ");
    assert_list((const char *const *)of_other, "A_SECRET= ");
    assert_list((const char *const *)of_user, "B_TOKEN=t A_SECRET= ");
    assert_list(held, "B_TOKEN TEST_KEY Z_TOKEN ");
}
END_TEST

START_TEST(limits_of_a_tool_override_the_general_ones)
{
    scratch_write("system.json", "{\"limits\":{\"memory\":1000,\"cpu_seconds\":9}}");
    scratch_write("user.json", "{\"limits\":{\"memory\":2000,\"processes\":5},\"limits.memory\":7,"
                               "\"tools\":{\"t-x\":{\"limits\":{\"memory\":0,\"file_size\":8}}}}");
    load_good();
    assert_warning("user.json", 1, "unknown key limits.memory");
    ik_config_limits_t limits = ik_config_tool_limits(config, "bash");
    ck_assert_int_eq(limits.memory, 2000);
    ck_assert_int_eq(limits.file_size, 0);
    ck_assert_int_eq(limits.processes, 5);
    ck_assert_int_eq(limits.cpu_seconds, 9);
    limits = ik_config_tool_limits(config, "t_x");
    ck_assert_int_eq(limits.memory, 0);
    ck_assert_int_eq(limits.file_size, 8);
    ck_assert_int_eq(limits.processes, 5);
    ck_assert_int_eq(limits.cpu_seconds, 9);
}
END_TEST

static void assert_env(const char *expected)
{
    char **entries = ik_config_tool_environment(config, config, "ask-model", false);
    assert_list((const char *const *)entries, expected);
}

/* The configuration and the files it names are read at each call of a tool, so a credential that is
 * set while the program runs is used by the next call. */
START_TEST(env_is_read_at_each_call)
{
    char text[512];
    snprintf(text, sizeof(text),
             "{\"tools\":{\"ask-model\":{\"pass_env\":[\"OPENAI_API_KEY\"],\"env\":{\"A\":\"1=2\","
             "\"B\":\"file:%s\",\"OPENAI_API_KEY\":\"own\",\"H\":\"file:~/x\"}}}}",
             scratch_path("token"));
    scratch_write("user.json", text);
    setenv("OPENAI_API_KEY", "sk-1", 1);
    setenv("HOME", scratch_folder, 1);
    load_good();
    assert_env("OPENAI_API_KEY=own A=1=2 ");
    scratch_write("token", "secret\n");
    assert_env("OPENAI_API_KEY=own A=1=2 B=secret ");
    scratch_write("token", "two\nlines\r\n");
    scratch_write("x", "home");
    assert_env("OPENAI_API_KEY=own A=1=2 B=two\nlines H=home ");
    unlink(scratch_path("token"));
    ck_assert_int_eq(mkfifo(scratch_path("token"), 0600), 0);
    assert_env("OPENAI_API_KEY=own A=1=2 H=home ");
    scratch_write("user.json", "{\"tools\":{\"ask-model\":{\"env\":{\"C\":\"\"}}}}");
    assert_env("OPENAI_API_KEY=sk-1 C= ");
    scratch_write("user.json", "{"); /* broken: the values from the start are used */
    assert_env("OPENAI_API_KEY=own A=1=2 H=home ");
    /* A project's file is never used, neither at the start nor later. */
    scratch_write("user.json", "{}");
    scratch_write("project.json", "{\"tools\":{\"ask-model\":{\"env\":{\"LD_PRELOAD\":\"/x\"}}}}");
    load_good();
    assert_env("");
}
END_TEST

/* --- themes ------------------------------------------------------------------------------ */

START_TEST(themes_have_names)
{
    static const char *const names[] = {"auto", "dark", "light", "mono"};
    for (size_t i = 0; i < 4; i++) {
        char text[32];
        snprintf(text, sizeof(text), "{\"theme\":\"%s\"}", names[i]);
        scratch_write("user.json", text);
        load_good();
        ck_assert_str_eq(config->theme, names[i]);
        ck_assert_uint_eq(config->colours.base, i);
    }
}
END_TEST

static void load_theme(const char *text)
{
    scratch_write("user.json", "{\n\"theme\":\"theme.json\"}"); /* beside this file */
    scratch_write("theme.json", text);
    load();
}

START_TEST(a_theme_file_sets_every_colour)
{
    load_theme("{\"base\":\"light\",\"colors\":{\"text\":\"#000001\",\"dim\":\"#000002\","
               "\"heading\":\"#000003\",\"code\":\"#000004\",\"link\":\"#000005\","
               "\"tool\":\"#000006\",\"added\":\"#000007\",\"removed\":\"#000008\","
               "\"warning\":\"#000009\",\"error\":\"#00000a\",\"status\":\"#AbCdEf\"}}");
    ck_assert_msg(is_ok(&result), "%s", result.message);
    ck_assert_uint_eq(config->warning_count, 0);
    ck_assert_int_eq(config->colours.base, IK_CONFIG_THEME_LIGHT);
    for (uint32_t i = 0; i < IK_CONFIG_COLOUR_STATUS; i++) {
        ck_assert_uint_eq(config->colours.colours[i], i + 1);
    }
    ck_assert_uint_eq(config->colours.colours[IK_CONFIG_COLOUR_STATUS], 0xabcdef);
    load_theme("{\"colors\":{\"code\":\"#000000\"}}");
    ck_assert(is_ok(&result));
    ck_assert_int_eq(config->colours.base, IK_CONFIG_THEME_AUTO);
    ck_assert_uint_eq(config->colours.colours[IK_CONFIG_COLOUR_CODE], 0);
    ck_assert_uint_eq(config->colours.colours[IK_CONFIG_COLOUR_TEXT], IK_CONFIG_COLOUR_UNSET);
}
END_TEST

START_TEST(unknown_names_in_a_theme_are_warnings)
{
    load_theme("{\"base\":\"dark\",\n\"colors\":{\"headin\":\"#000000\",\n\"x\\u0007\":1,"
               "\"text\":\"#010203\"},\n\"name\":\"mine\"}");
    ck_assert_msg(is_ok(&result), "%s", result.message);
    assert_warning("theme.json", 2, "unknown colour headin; did you mean heading?");
    assert_warning("theme.json", 3, "unknown colour x?");
    assert_warning("theme.json", 4, "unknown key name");
    ck_assert_uint_eq(config->warning_count, 3);
    ck_assert_uint_eq(config->colours.colours[IK_CONFIG_COLOUR_TEXT], 0x010203);
}
END_TEST

START_TEST(faults_in_a_theme_are_errors)
{
    static const fault_t faults[] = {
        {1, "", "broken JSON"},
        {2, "{\n\"base\":", "broken JSON"},
        {1, "[]", "must be an object"},
        {2, "{\"base\":\n\"blue\"}", "base must be"},
        {1, "{\"base\":\"mono\"}", "base must be"},
        {1, "{\"base\":1}", "base must be"},
        {1, "{\"colors\":[]}", "colors must be an object"},
        {2, "{\"colors\":{\n\"text\":\"red\"}}", "colors.text must be written \"#RRGGBB\""},
        {1, "{\"colors\":{\"text\":\"#12345\"}}", "colors.text"},
        {1, "{\"colors\":{\"text\":\"#1234567\"}}", "colors.text"},
        {1, "{\"colors\":{\"text\":\"#12345g\"}}", "colors.text"},
        {1, "{\"colors\":{\"text\":\"#+12345\"}}", "colors.text"},
        {1, "{\"colors\":{\"text\":\"#12345\\u0000\"}}", "colors.text"},
        {1, "{\"colors\":{\"text\":123456}}", "colors.text"},
    };
    scratch_write("user.json", "{\"theme\":\"theme.json\"}");
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        assert_fault("theme.json", &faults[i]);
    }
    load_theme("{\"colors\":{\"\xff\":1}}");
    ck_assert(is_err(&result));
    ck_assert_ptr_nonnull(strstr(result.message, "theme.json: the theme is not UTF-8"));
}
END_TEST

START_TEST(the_theme_of_the_last_layer_is_read)
{
    scratch_write("system.json", "{\"theme\":\"/nowhere/a.json\"}");
    scratch_write("user.json", "{\"theme\":\"dark\"}");
    load_good();
    ck_assert_int_eq(config->colours.base, IK_CONFIG_THEME_DARK);
    /* A project's theme is not read. */
    scratch_write("project.json", "{\"theme\":\"/nowhere/b.json\"}");
    load_good();
    ck_assert_str_eq(config->theme, "dark");
    assert_warning("project.json", 1, "theme is not honoured");
}
END_TEST

START_TEST(a_theme_may_be_below_the_home)
{
    char *home = ik_strdup(NULL, getenv("HOME"));
    char *folder = ik_file_folder(home, scratch_path("x"));
    setenv("HOME", folder, 1);
    scratch_write("x.json", "{\"base\":\"dark\"}");
    scratch_write("user.json", "{\"theme\":\"~/x.json\"}");
    load_good();
    ck_assert_int_eq(config->colours.base, IK_CONFIG_THEME_DARK);
    setenv("HOME", home, 1);
    talloc_free(home);
}
END_TEST

/* --- formatting for doctor --------------------------------------------------------------- */

static void assert_format(ik_config_section_t section, const char *name, const void *data,
                          const char *expected)
{
    char *text = ik_config_format_key(NULL, ik_config_find_key(section, name), data);
    ck_assert_str_eq(text, expected);
    talloc_free(text);
}

START_TEST(values_can_be_formatted)
{
    scratch_write("user.json", "{\"db\":\"postgresql://me:p@ss@host/db?sslmode=require&"
                               "sslpassword=one&password=secret&x=1\",\"tools\":{\"t\":{\"pass_"
                               "env\":[\"A\",\"B\"],\"env\":{"
                               "\"C\":\"secret\",\"D\":\"file:~/d\"}}},"
                               "\"providers\":{\"b\":{\"base_url\":\"http://u:pw@h/v1\"}}}");
    load_good();
    assert_format(IK_CONFIG_TOP, "db", config,
                  "postgresql://me:***@host/db?sslmode=require&sslpassword=***&password=***&x=1");
    assert_format(IK_CONFIG_TOP, "max_tool_turns", config, "50");
    assert_format(IK_CONFIG_TOP, "max_output_tokens", config, "");
    assert_format(IK_CONFIG_TOP, "model", config, "");
    assert_format(IK_CONFIG_TOP, "notify", config, "auto");
    assert_format(IK_CONFIG_TOP, "notify_after_seconds", config, "10");
    config->notify_after_seconds = 0;
    assert_format(IK_CONFIG_TOP, "notify_after_seconds", config, "0");
    const ik_config_tool_t *tool = ik_config_tool(config, "t");
    assert_format(IK_CONFIG_TOOL, "pass_env", tool, "A, B");
    assert_format(IK_CONFIG_TOOL, "env", tool, "C, D (file:~/d)");
    assert_format(IK_CONFIG_TOOL, "enabled", tool, "true");
    assert_format(IK_CONFIG_TOOL, "timeout_seconds", tool, "");
    assert_format(IK_CONFIG_PROVIDER, "base_url", ik_config_provider(config, "b"),
                  "http://u:***@h/v1");
    assert_format(IK_CONFIG_PROVIDER, "type", ik_config_provider(config, "offline"), "offline");
    assert_format(IK_CONFIG_PROVIDER, "api", ik_config_provider(config, "offline"), "");
    assert_format(IK_CONFIG_PROVIDER, "api", ik_config_provider(config, "openai"), "responses");
    ck_assert_str_eq(ik_config_source_name(IK_CONFIG_BUILT_IN), "built-in");
    ck_assert_str_eq(ik_config_source_name(IK_CONFIG_FLAG), "flag");
    ck_assert_str_eq(ik_config_provider_type_name(IK_CONFIG_TYPE_GOOGLE), "google");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config");
    TCase *tests = tcase_create("config");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60); /* valgrind and the large files */
    tcase_add_test(tests, built_in_values);
    tcase_add_test(tests, every_key_can_be_set_by_the_user);
    tcase_add_test(tests, later_layers_beat_earlier_ones);
    tcase_add_test(tests, empty_variables_count_as_unset);
    tcase_add_test(tests, the_shipped_file_is_accepted_and_hides_no_default);
    tcase_add_test(tests, faults_are_errors);
    tcase_add_test(tests, numbers_out_of_range_are_errors);
    tcase_add_test(tests, an_error_keeps_the_rest);
    tcase_add_test(tests, unknown_and_repeated_keys_are_warnings);
    tcase_add_test(tests, warnings_are_bounded);
    tcase_add_test(tests, entries_are_bounded);
    tcase_add_test(tests, files_others_may_write_are_refused);
    tcase_add_test(tests, a_project_file_others_may_write_is_left_out);
    tcase_add_test(tests, unreadable_and_oversized_files_are_errors);
    tcase_add_test(tests, paths_may_be_missing);
    tcase_add_test(tests, a_project_sets_only_what_the_table_allows);
    tcase_add_test(tests, a_project_only_lowers_and_disables);
    tcase_add_test(tests, a_project_names_models_of_configured_providers_only);
    tcase_add_test(tests, models_need_a_known_provider);
    tcase_add_test(tests, the_model_may_come_before_its_provider);
    tcase_add_test(tests, a_built_in_provider_keeps_its_type);
    tcase_add_test(tests, built_in_providers_are_configured_by_their_keys);
    tcase_add_test(tests, a_key_variable_of_ones_own_replaces_both);
    tcase_add_test(tests, named_endpoints);
    tcase_add_test(tests, the_openai_api_follows_the_host);
    tcase_add_test(tests, base_urls_come_from_the_environment);
    tcase_add_test(tests, scrubbing_removes_every_key_and_nothing_else);
    tcase_add_test(tests, loading_again_keeps_scrubbed_keys);
    tcase_add_test(tests, scrubbing_finds_repeated_variables);
    tcase_add_test(tests, pass_env_gives_scrubbed_variables_back);
    tcase_add_test(tests, variables_are_held_back_by_their_name);
    tcase_add_test(tests, what_is_held_back_is_given_to_those_who_are_named);
    tcase_add_test(tests, limits_of_a_tool_override_the_general_ones);
    tcase_add_test(tests, env_is_read_at_each_call);
    tcase_add_test(tests, themes_have_names);
    tcase_add_test(tests, a_theme_file_sets_every_colour);
    tcase_add_test(tests, unknown_names_in_a_theme_are_warnings);
    tcase_add_test(tests, faults_in_a_theme_are_errors);
    tcase_add_test(tests, the_theme_of_the_last_layer_is_read);
    tcase_add_test(tests, a_theme_may_be_below_the_home);
    tcase_add_test(tests, values_can_be_formatted);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}

#include <check.h>
#include <errno.h>

#include "base/alloc.h"
#include "base/config_change.h"
#include "base/config_secret.h"
#include "base/file.h"
#include "scratch.h"

static ik_paths_t paths;
static ik_config_t *config; /* of the last load */
static res_t result;

static void set_up(void)
{
    static const char *const names[] = {
        "IKIGAI_MODEL",    "IKIGAI_DB",      "OPENAI_BASE_URL",   "ANTHROPIC_BASE_URL",
        "GEMINI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY",
        "GOOGLE_API_KEY",  "VLLM_API_KEY",   "OPENROUTER_API_KEY"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        unsetenv(names[i]);
    }
    scratch_empty();
    paths = (ik_paths_t){
        .system_config = scratch_path("system.json"),
        .user_config = scratch_path("config.json"),
        .keys = scratch_path("keys.json"),
        .project_config = scratch_path("project.json"),
        .database = "/home/u/.ikigai/ikigai.db",
    };
    config = NULL;
}

static void tear_down(void)
{
    TALLOC_FREE(config);
}

static void load(void)
{
    TALLOC_FREE(config);
    result = ik_config_load(NULL, &paths, NULL, &config);
}

static void load_good(void)
{
    load();
    ck_assert_msg(is_ok(&result), "%s", result.message);
    ck_assert_uint_eq(config->warning_count, 0);
}

static void write_keys(const char *text)
{
    scratch_write("keys.json", text);
    ck_assert_int_eq(chmod(scratch_path("keys.json"), 0600), 0);
}

static const ik_config_provider_t *provider(const char *name)
{
    const ik_config_provider_t *found = ik_config_provider(config, name);
    ck_assert_msg(found != NULL, "%s", name);
    return found;
}

static void assert_file(const char *name, const char *expected)
{
    char *bytes;
    size_t len;
    res_t read = ik_file_read(NULL, scratch_path(name), 100000, &bytes, &len);
    ck_assert_msg(is_ok(&read), "%s", read.message);
    ck_assert_str_eq(bytes, expected);
    talloc_free(bytes);
}

#define ASSERT_OK(expr_)                                                                           \
    do {                                                                                           \
        result = (expr_);                                                                          \
        ck_assert_msg(is_ok(&result), "%s", result.message);                                       \
    } while (0)

#define ASSERT_ERROR(expr_, words_)                                                                \
    do {                                                                                           \
        result = (expr_);                                                                          \
        ck_assert_msg(is_err(&result), "no error: %s", words_);                                    \
        ck_assert_msg(strstr(result.message, words_) != NULL, "%s", result.message);               \
    } while (0)

/* --- reading the key file ---------------------------------------------------------------- */

START_TEST(a_missing_key_file_is_nothing)
{
    load_good();
    ck_assert(!ik_config_has_key(config));
}
END_TEST

START_TEST(keys_come_from_the_file)
{
    scratch_write("config.json", "{\"providers\":{\"box\":{\"base_url\":\"http://h/v1\"}}}");
    write_keys("{\"openai\": {\"api_key\": \" file-key\\n\", \"since\": 2026},\n"
               " \"box\": {\"api_key\": \"box-key\"}, \"gone\": {\"api_key\": \"x\"},\n"
               " \"google\": {}, \"anthropic\": {\"api_key\": \"\"}}");
    load_good();
    ck_assert_str_eq(provider("openai")->api_key, "file-key");
    ck_assert(provider("openai")->key_from_file && provider("openai")->configured);
    ck_assert_str_eq(provider("box")->api_key, "box-key");
    ck_assert_ptr_null(provider("box")->api_key_env);
    ck_assert(provider("box")->configured);
    ck_assert(!provider("google")->configured);
    ck_assert(!provider("anthropic")->configured);
    ck_assert(ik_config_has_key(config));
}
END_TEST

START_TEST(the_environment_wins)
{
    setenv("OPENAI_API_KEY", "env-key", 1);
    setenv("GOOGLE_API_KEY", "env-google", 1);
    write_keys("{\"openai\":{\"api_key\":\"a\"},\"google\":{\"api_key\":\"b\"},"
               "\"anthropic\":{\"api_key\":\"c\"}}");
    load_good();
    ck_assert_str_eq(provider("openai")->api_key, "env-key");
    ck_assert(!provider("openai")->key_from_file);
    ck_assert_str_eq(provider("google")->api_key, "env-google");
    ck_assert_str_eq(provider("google")->api_key_env, "GOOGLE_API_KEY");
    ck_assert_str_eq(provider("anthropic")->api_key, "c");
    /* An empty variable is none. */
    setenv("OPENAI_API_KEY", " ", 1);
    load_good();
    ck_assert_str_eq(provider("openai")->api_key, "a");
    ck_assert(provider("openai")->key_from_file);
}
END_TEST

START_TEST(keys_of_the_file_are_never_given_to_tools)
{
    scratch_write("config.json", "{\"tools\":{\"t\":{\"pass_env\":[\"OPENAI_API_KEY\"]}}}");
    write_keys("{\"openai\":{\"api_key\":\"file-key\"}}");
    load_good();
    ik_config_scrub_environment(config);
    char **environment = ik_config_tool_environment(config, config, "t", false);
    ck_assert_ptr_null(environment[0]);
    ck_assert_ptr_null(getenv("OPENAI_API_KEY"));
}
END_TEST

START_TEST(a_key_file_that_others_can_read_is_an_error)
{
    static const mode_t modes[] = {0640, 0604, 0660, 0666, 0601, 0610};
    write_keys("{\"openai\":{\"api_key\":\"file-key\"}}");
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        ck_assert_int_eq(chmod(paths.keys, modes[i]), 0);
        load();
        ck_assert_int_eq(result.code, IK_ERR_DENIED);
        char words[300];
        snprintf(words, sizeof(words), "chmod 600 %s", paths.keys);
        ck_assert_msg(strstr(result.message, words) != NULL, "%s", result.message);
        ck_assert_ptr_null(provider("openai")->api_key);
    }
    ck_assert_int_eq(chmod(paths.keys, 0400), 0);
    load_good();
    ck_assert_ptr_nonnull(provider("openai")->api_key);
}
END_TEST

typedef struct {
    const char *text;
    int line;
    const char *words;
} broken_case_t;

static const broken_case_t broken_cases[] = {
    {"", 1, "broken JSON"},
    {"{\n\"openai\": {\"api_key\": \"sk-canary\"},\n}", 3, "broken JSON"},
    {"[\"sk-canary\"]", 1, "must be an object"},
    {"{\"sk-canary\":\n\"sk-canary\"}", 2, "must be an object"},
    {"{\"openai\": {\"api_key\":\n[\"sk-canary\"]}}", 2, "must be a string"},
    {"{\"openai\": {\"api_key\": \"sk canary\"}}", 1, "characters that no key can have"},
    {"{\"openai\": {\"api_key\": \"sk-canary\\u0000\"}}", 1, "characters that no key can have"},
    {"{\"openai\": {\"api_key\": \"sk-canary\xff\"}}", 0, "UTF-8"},
};

START_TEST(a_broken_key_file_is_an_error_that_quotes_nothing)
{
    const broken_case_t *c = &broken_cases[_i];
    char place[300];
    write_keys(c->text);
    load();
    ck_assert_int_eq(result.code, IK_ERR_INVALID);
    ck_assert_msg(strstr(result.message, c->words) != NULL, "%s", result.message);
    ck_assert_msg(strstr(result.message, "canary") == NULL, "%s", result.message);
    snprintf(place, sizeof(place), "%s:%d: ", paths.keys, c->line);
    ck_assert_msg(c->line == 0 || strstr(result.message, place) != NULL, "%s", result.message);
}
END_TEST

/* --- servers that are known by name ------------------------------------------------------ */

START_TEST(usual_servers_are_known)
{
    static const struct {
        const char *name;
        const char *url;
        const char *variable;
        bool usable;
    } known[] = {
        {"ollama", "http://127.0.0.1:11434/v1", NULL, true},
        {"lmstudio", "http://127.0.0.1:1234/v1", NULL, true},
        {"llama", "http://127.0.0.1:8080/v1", NULL, true},
        {"vllm", "http://127.0.0.1:8000/v1", "VLLM_API_KEY", true},
        {"openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", false},
    };
    load_good();
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const ik_config_provider_t *server = provider(known[i].name);
        ck_assert_str_eq(server->base_url, known[i].url);
        ck_assert_pstr_eq(server->api_key_env, known[i].variable);
        ck_assert_int_eq(server->configured, known[i].usable);
        ck_assert_int_eq(server->type, IK_CONFIG_TYPE_OPENAI);
        ck_assert_int_eq(server->api, IK_CONFIG_API_CHAT);
        ck_assert_ptr_null(server->place);
    }
    setenv("VLLM_API_KEY", "v", 1);
    setenv("OPENROUTER_API_KEY", "r", 1);
    load_good();
    ck_assert_str_eq(provider("vllm")->api_key, "v");
    ck_assert_str_eq(provider("openrouter")->api_key, "r");
    ik_config_scrub_environment(config);
    ck_assert_ptr_null(getenv("VLLM_API_KEY"));
    ck_assert_ptr_null(getenv("OPENROUTER_API_KEY"));
}
END_TEST

START_TEST(a_file_overrides_a_usual_server)
{
    scratch_write("config.json",
                  "{\"providers\":{\"ollama\":{\"base_url\":\"http://gpu:11434/v1\"},\n"
                  "\"llama\":{\"type\":\"anthropic\",\"base_url\":\"http://gpu:9\"},\n"
                  "\"vllm\":{\"api_key_env\":\"OTHER_KEY\"}}}");
    load_good();
    ck_assert_str_eq(provider("ollama")->base_url, "http://gpu:11434/v1");
    ck_assert_int_eq(provider("llama")->type, IK_CONFIG_TYPE_ANTHROPIC);
    ck_assert_ptr_nonnull(strstr(provider("llama")->place, "config.json:2"));
    ck_assert(!provider("vllm")->configured); /* who names a variable wants its key */
    ck_assert_str_eq(provider("vllm")->base_url, "http://127.0.0.1:8000/v1");
}
END_TEST

/* A server at a usual port may be another user's, so a project cannot send the conversation there.
 */
START_TEST(a_project_cannot_choose_a_server_that_the_user_did_not_configure)
{
    scratch_write("project.json", "{\"model\":\"ollama/x\"}");
    load();
    ck_assert(is_ok(&result));
    ck_assert_ptr_null(config->model);
    ck_assert_uint_eq(config->warning_count, 1);
    scratch_write("config.json", "{\"providers\":{\"ollama\":{}}}");
    load_good();
    ck_assert_str_eq(config->model, "ollama/x");
}
END_TEST

/* --- changes ----------------------------------------------------------------------------- */

START_TEST(a_model_is_remembered)
{
    scratch_write("config.json", "{\n\t\"zzz\" : [ 1,2 ],\n\t\"model\":\"openai/a\"\n}\n");
    load();
    ASSERT_OK(ik_config_change_model(config, &paths, "ollama/b:7b"));
    ck_assert_str_eq(config->model, "ollama/b:7b");
    assert_file("config.json", "{\n\t\"zzz\" : [ 1,2 ],\n\t\"model\":\"ollama/b:7b\"\n}\n");
    load();
    ck_assert_str_eq(config->model, "ollama/b:7b");
}
END_TEST

START_TEST(a_model_from_the_environment_stays_in_force)
{
    setenv("IKIGAI_MODEL", "openai/env", 1);
    load_good();
    ASSERT_OK(ik_config_change_model(config, &paths, "openai/b"));
    ck_assert_str_eq(config->model, "openai/env");
    assert_file("config.json", "{\n  \"model\": \"openai/b\"\n}\n");
}
END_TEST

START_TEST(a_model_that_cannot_be_kept)
{
    load_good();
    ASSERT_ERROR(ik_config_change_model(config, &paths, "nobody/a"), "no provider 'nobody'");
    ASSERT_ERROR(ik_config_change_model(config, &paths, "openai"), "provider/model");
    ASSERT_ERROR(ik_config_change_model(config, &paths, "openai/a\nb"), "control characters");
    ck_assert_int_ne(access(paths.user_config, F_OK), 0);
    scratch_write("config.json", "{");
    ASSERT_ERROR(ik_config_change_model(config, &paths, "openai/b"), "broken JSON");
    ck_assert_ptr_null(config->model);
    assert_file("config.json", "{");
}
END_TEST

START_TEST(a_server_is_added)
{
    const ik_config_provider_t *added;
    load_good();
    ASSERT_OK(ik_config_change_provider(config, &paths, "gpu-box", "http://gpu:8000/v1//", &added));
    ck_assert_str_eq(added->base_url, "http://gpu:8000/v1");
    ck_assert_ptr_eq(added, provider("gpu-box"));
    ck_assert(added->configured && added->place != NULL);
    ck_assert_int_eq(added->api, IK_CONFIG_API_CHAT);
    ASSERT_OK(ik_config_change_key(config, &paths, "gpu-box", "secret"));
    ASSERT_OK(ik_config_change_model(config, &paths, "gpu-box/m"));
    assert_file("config.json",
                "{\n  \"providers\": {\n    \"gpu-box\": {\n      \"base_url\": "
                "\"http://gpu:8000/v1\"\n    }\n  },\n  \"model\": \"gpu-box/m\"\n}\n");
    load_good();
    ck_assert_str_eq(provider("gpu-box")->base_url, "http://gpu:8000/v1");
    ck_assert_str_eq(provider("gpu-box")->api_key, "secret");
    ck_assert_str_eq(config->model, "gpu-box/m");
    ASSERT_ERROR(ik_config_change_provider(config, &paths, "a b", "http://h", NULL), "valid");
    ASSERT_ERROR(ik_config_change_provider(config, &paths, "openai", "http://h", NULL), "built-in");
    ASSERT_ERROR(ik_config_change_provider(config, &paths, "x", "gpu:8000", NULL), "http://");
    ck_assert_ptr_null(ik_config_provider(config, "x"));
}
END_TEST

START_TEST(a_key_is_stored)
{
    mode_t mask = umask(0);
    load_good();
    ASSERT_OK(ik_config_change_key(config, &paths, "openai", "\t new-key \n"));
    umask(mask);
    ck_assert_str_eq(provider("openai")->api_key, "new-key");
    ck_assert(provider("openai")->key_from_file && provider("openai")->configured);
    ck_assert_uint_eq(scratch_mode("keys.json"), 0600);
    assert_file("keys.json", "{\n  \"openai\": {\n    \"api_key\": \"new-key\"\n  }\n}\n");
    /* Others stay as they are. */
    write_keys("{\"a\": {\"x\": [ 1 ]}, \"openai\": {\"since\": 1, \"api_key\": \"old\"}}");
    ASSERT_OK(ik_config_change_key(config, &paths, "openai", "k2"));
    assert_file("keys.json",
                "{\"a\": {\"x\": [ 1 ]}, \"openai\": {\"since\": 1, \"api_key\": \"k2\"}}");
    ck_assert_str_eq(provider("openai")->api_key, "k2");
}
END_TEST

START_TEST(a_key_that_cannot_be_stored)
{
    load_good();
    ASSERT_ERROR(ik_config_change_key(config, &paths, "openai", " \n"), "empty");
    ASSERT_ERROR(ik_config_change_key(config, &paths, "openai", "a b"), "characters");
    ASSERT_ERROR(ik_config_change_key(config, &paths, "nobody", "k"), "no provider 'nobody'");
    ASSERT_ERROR(ik_config_change_key(config, &paths, "offline", "k"), "needs no key");
    ck_assert_int_ne(access(paths.keys, F_OK), 0);
    write_keys("{}");
    ck_assert_int_eq(chmod(paths.keys, 0644), 0);
    ASSERT_ERROR(ik_config_change_key(config, &paths, "openai", "k"), "chmod 600");
    ck_assert_int_eq(chmod(paths.keys, 0600), 0);
    write_keys("{,}");
    ASSERT_ERROR(ik_config_change_key(config, &paths, "openai", "k"), "broken JSON");
    assert_file("keys.json", "{,}");
    ck_assert_ptr_null(provider("openai")->api_key);
}
END_TEST

START_TEST(a_stored_key_does_not_replace_that_of_the_environment)
{
    setenv("OPENAI_API_KEY", "env-key", 1);
    load_good();
    ASSERT_OK(ik_config_change_key(config, &paths, "openai", "stored"));
    ck_assert_str_eq(provider("openai")->api_key, "env-key");
    ck_assert(!provider("openai")->key_from_file);
}
END_TEST

START_TEST(a_key_is_forgotten)
{
    bool removed;
    const char *variable;
    setenv("GEMINI_API_KEY", "env-key", 1);
    write_keys("{\"google\":{\"api_key\":\"g\"},\"openai\":{\"api_key\":\"o\"}}");
    load_good();
    ASSERT_OK(ik_config_change_forget_key(config, &paths, "openai", &removed, &variable));
    ck_assert(removed);
    ck_assert_ptr_null(variable);
    ck_assert_ptr_null(provider("openai")->api_key);
    ck_assert(!provider("openai")->configured);
    ASSERT_OK(ik_config_change_forget_key(config, &paths, "google", &removed, &variable));
    ck_assert(removed);
    ck_assert_str_eq(variable, "GEMINI_API_KEY");
    ck_assert_ptr_null(provider("google")->api_key);
    ck_assert_ptr_null(ik_config_secret_value(config, "GEMINI_API_KEY"));
    assert_file("keys.json", "{}");
    ASSERT_OK(ik_config_change_forget_key(config, &paths, "anthropic", &removed, &variable));
    ck_assert(!removed && variable == NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config_change");
    TCase *tests = tcase_create("config_change");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_missing_key_file_is_nothing);
    tcase_add_test(tests, keys_come_from_the_file);
    tcase_add_test(tests, the_environment_wins);
    tcase_add_test(tests, keys_of_the_file_are_never_given_to_tools);
    tcase_add_test(tests, a_key_file_that_others_can_read_is_an_error);
    tcase_add_loop_test(tests, a_broken_key_file_is_an_error_that_quotes_nothing, 0,
                        sizeof(broken_cases) / sizeof(broken_cases[0]));
    tcase_add_test(tests, usual_servers_are_known);
    tcase_add_test(tests, a_file_overrides_a_usual_server);
    tcase_add_test(tests, a_project_cannot_choose_a_server_that_the_user_did_not_configure);
    tcase_add_test(tests, a_model_is_remembered);
    tcase_add_test(tests, a_model_from_the_environment_stays_in_force);
    tcase_add_test(tests, a_model_that_cannot_be_kept);
    tcase_add_test(tests, a_server_is_added);
    tcase_add_test(tests, a_key_is_stored);
    tcase_add_test(tests, a_key_that_cannot_be_stored);
    tcase_add_test(tests, a_stored_key_does_not_replace_that_of_the_environment);
    tcase_add_test(tests, a_key_is_forgotten);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}

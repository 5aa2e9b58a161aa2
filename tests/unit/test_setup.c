#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "base/config_provider.h"
#include "scratch.h"
#include "setup/setup_address.h"
#include "setup/setup_suggestions.h"
#include "suite.h"

static void *ctx;

static void set_up(void)
{
    scratch_empty();
    ctx = talloc_new(NULL);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

/* --- addresses --------------------------------------------------------------------------- */

static const struct {
    const char *typed;
    const char *url;  /* NULL: not an address */
    const char *bare; /* NULL: a path was typed */
} addresses[] = {
    {"http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1", NULL},
    {" http://127.0.0.1:8000/v1/ \n", "http://127.0.0.1:8000/v1", NULL},
    {"http://127.0.0.1:8000", "http://127.0.0.1:8000/v1", "http://127.0.0.1:8000"},
    {"https://llm.example.com/", "https://llm.example.com/v1", "https://llm.example.com"},
    {"localhost:1234", "http://localhost:1234/v1", "http://localhost:1234"},
    {"LOCALHOST", "http://LOCALHOST/v1", "http://LOCALHOST"},
    {"192.168.1.5:8080/openai", "http://192.168.1.5:8080/openai", NULL},
    {"[::1]:8080", "http://[::1]:8080/v1", "http://[::1]:8080"},
    {"llm.example.com", "https://llm.example.com/v1", "https://llm.example.com"},
    {"llm.example.com/api/v1", "https://llm.example.com/api/v1", NULL},
    {"http://user:secret@box:81", "http://user:secret@box:81/v1", "http://user:secret@box:81"},
    {"", NULL, NULL},
    {"   ", NULL, NULL},
    {"http://", NULL, NULL},
    {"///", NULL, NULL},
    {":8000", NULL, NULL},
    {"two words", NULL, NULL},
    {"[", "http://[/v1", "http://["}, /* the request says what is wrong with it */
};

START_TEST(what_an_address_stands_for)
{
    char *bare;
    char *url = ik_setup_address_complete(ctx, addresses[_i].typed, &bare);
    ck_assert_pstr_eq(url, addresses[_i].url);
    ck_assert_pstr_eq(bare, addresses[_i].bare);
}
END_TEST

static const struct {
    const char *url;
    const char *name;
} names[] = {
    {"http://127.0.0.1:8001/v1", "local-2"},
    {"http://localhost:9", "local-2"},
    {"http://[::1]:9/v1", "local-2"},
    {"http://127.0.0.1:9000/v1", "local"},   /* the one that has this URL */
    {"http://127.0.0.1:9000/v1/", "local"},  /* it is stored without the slash */
    {"http://127.0.0.1:11434/v1", "ollama"}, /* known by name */
    {"https://api.openai.com/v1", "openai"}, /* known by name */
    {"https://LLM.Example.com/v1", "llm-example-com"},
    {"https://u:p@llm.example.com:443/v1", "llm-example-com"},
    {"http://192.168.1.5:8080", "192-168-1-5"},
    {"https://anthropic", "anthropic-2"}, /* taken */
    {"https://b\xc3\xbc"
     "cher.example",
     "b--cher-example"},
    {"https://a123456789012345678901234567890123456789012345678901234567890123.example/v1",
     "a12345678901234567890123456789012345678901234567"},
};

START_TEST(names_of_servers)
{
    ik_config_t *config = ik_new(ctx, ik_config_t);
    ik_config_provider_add_built_in(config);
    ik_config_provider_t *local = ik_config_provider_add(config, "local");
    local->type = IK_CONFIG_TYPE_OPENAI;
    local->base_url = "http://127.0.0.1:9000/v1";
    char *name = ik_setup_address_name(ctx, config, names[_i].url);
    ck_assert_str_eq(name, names[_i].name);
    ck_assert(ik_config_provider_is_name(name));
}
END_TEST

START_TEST(ports_of_this_machine)
{
    ck_assert_int_eq(ik_setup_address_local_port("http://127.0.0.1:11434/v1"), 11434);
    ck_assert_int_eq(ik_setup_address_local_port("http://localhost:1/v1"), 1);
    ck_assert_int_eq(ik_setup_address_local_port("http://localhost/v1"), 80);
    ck_assert_int_eq(ik_setup_address_local_port("https://localhost/v1"), 443);
    ck_assert_int_eq(ik_setup_address_local_port("http://localhost:99999/v1"), 0);
    ck_assert_int_eq(ik_setup_address_local_port("http://box.example:8080/v1"), 0);
    ck_assert_int_eq(ik_setup_address_local_port("http://127.0.0.1@evil.example:80/"), 0);
}
END_TEST

/* --- suggestions ------------------------------------------------------------------------- */

static const struct {
    const char *file;
    const char *text;
    const char *expected; /* the second line */
} folders[] = {
    {"Makefile", "test:\n\ttrue\n", "run make test and fix what fails"},
    {"makefile", "all check test : x\n", "run make test and fix what fails"},
    {"GNUmakefile", "x:\n\ntest::x", "run make test and fix what fails"},
    {"Makefile", "test := no\ntest = a:b\ntests: a\n\ttest: no\n# test: no\na: test\ntest-all:\n",
     NULL},
    {"Makefile", ".PHONY: test\n", NULL},
    {"Makefile", "", NULL},
    {"package.json", "{\"scripts\": {\"test\": \"jest\"}}", "run npm test and fix what fails"},
    {"package.json", "{\"scripts\": {\"build\": \"tsc\"}}", NULL},
    {"package.json", "{broken", NULL},
    {"Cargo.toml", "", "run cargo test and fix what fails"},
    {"go.mod", "", "run go test ./... and fix what fails"},
    {"pyproject.toml", "", "run pytest and fix what fails"},
    {"README.md", "", NULL},
};

START_TEST(things_to_try)
{
    scratch_write(folders[_i].file, folders[_i].text);
    char *lines = ik_setup_suggestions(ctx, scratch_path(""));
    char *expected =
        ik_sprintf(ctx, "explain this project\n%s%s/init\nwhat could be improved here?\n",
                   folders[_i].expected == NULL ? "" : folders[_i].expected,
                   folders[_i].expected == NULL ? "" : "\n");
    ck_assert_str_eq(lines, expected);
}
END_TEST

START_TEST(a_repository_has_commits_to_review)
{
    scratch_write(".git", "gitdir: elsewhere\n");
    ck_assert_str_eq(ik_setup_suggestions(ctx, scratch_path("")),
                     "explain this project\n/init\nreview my last commit\n");
    ck_assert_str_eq(ik_setup_suggestions(ctx, "/nonexistent"),
                     "explain this project\n/init\nwhat could be improved here?\n");
    scratch_write("CLAUDE.md", "");
    ck_assert_str_eq(ik_setup_suggestions(ctx, scratch_path("")),
                     "explain this project\nreview my last commit\n");
}
END_TEST

#define LENGTH(table) (int)(sizeof(table) / sizeof((table)[0]))

int main(void)
{
    Suite *suite = suite_create("setup");
    TCase *tests = tcase_create("setup");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, what_an_address_stands_for, 0, LENGTH(addresses));
    tcase_add_loop_test(tests, names_of_servers, 0, LENGTH(names));
    tcase_add_test(tests, ports_of_this_machine);
    tcase_add_loop_test(tests, things_to_try, 0, LENGTH(folders));
    tcase_add_test(tests, a_repository_has_commits_to_review);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}

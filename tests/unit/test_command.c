/* The table and the dispatcher of slash commands. What the commands do is tested at a terminal, in
 * tests/e2e/test_repl_commands.py. */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "command/command.h"
#include "suite.h"

static void *ctx;
static ik_command_host_t host;
static ik_buffer_t said;

static void print(ik_command_host_t *self, const char *text)
{
    (void)self;
    ik_buffer_append_text(&said, text);
}

static void complain(ik_command_host_t *self, const char *text)
{
    (void)self;
    ik_buffer_append_format(&said, "FAILED: %s\n", text);
}

static res_t show_result(ik_command_host_t *self, size_t number)
{
    (void)self;
    ik_buffer_append_format(&said, "[show %zu]\n", number);
    return OK;
}

static void leave(ik_command_host_t *self)
{
    (void)self;
    ik_buffer_append_text(&said, "[leave]\n");
}

static void on_event(void *data, const ik_workspace_event_t *event)
{
    (void)data;
    (void)event;
}

/* The workspace is not started: tools are still to be found. */
static void set_up(void)
{
    static const ik_command_screen_t screen = {.print = print,
                                               .print_line = print,
                                               .fail = complain,
                                               .show_result = show_result,
                                               .leave = leave};
    static const ik_workspace_start_t start = {.without_tools = false};
    ik_workspace_options_t options = {.start = &start, .on_event = on_event};
    ik_paths_t *paths;
    ik_config_t *config;
    ctx = talloc_new(NULL);
    setenv("IKIGAI_HOME", "/nonexistent/ikigai", 1);
    ck_assert_int_eq(ik_paths_create(ctx, &paths).code, IK_ERR_NONE);
    ck_assert_int_eq(ik_config_load(ctx, paths, NULL, &config).code, IK_ERR_NONE);
    ck_assert_int_eq(ik_loop_create(ctx, &options.loop).code, IK_ERR_NONE);
    options.paths = paths;
    options.config = config;
    host = (ik_command_host_t){
        .screen = &screen, .workspace = ik_workspace_create(ctx, &options), .ctx = ctx};
    ik_buffer_init(&said, ctx, IK_BUFFER_UNLIMITED);
}

static void tear_down(void)
{
    ik_workspace_close(host.workspace, 0);
    talloc_free(ctx);
}

static const char *run(const char *line)
{
    said.len = 0;
    ik_buffer_append_text(&said, "");
    ik_command_run(&host, line, false);
    return said.data;
}

static void assert_has(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "%s\nis not in\n%s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) == NULL, "%s\nis in\n%s", part, text);
}

START_TEST(the_table_is_sorted_and_complete)
{
    size_t count;
    const ik_command_t *const *table = ik_command_table(&count);
    for (size_t i = 0; i < count; i++) {
        ck_assert(i == 0 || strcmp(table[i - 1]->name, table[i]->name) < 0);
        ck_assert_ptr_nonnull(table[i]->run);
        ck_assert_uint_le(table[i]->min_args, table[i]->max_args);
        ck_assert_int_eq(*table[i]->usage == '\0', table[i]->max_args == 0);
        ck_assert_int_eq(table[i]->help[strlen(table[i]->help) - 1], '.');
    }
}
END_TEST

START_TEST(a_name_is_found_with_and_without_the_slash_but_whole)
{
    ck_assert_str_eq(ik_command_find("/model", 6)->name, "model");
    ck_assert_str_eq(ik_command_find("model", 5)->name, "model");
    ck_assert_str_eq(ik_command_find("/model x", 6)->name, "model");
    ck_assert_ptr_null(ik_command_find("/mod", 4));
    ck_assert_ptr_null(ik_command_find("/models", 7));
    ck_assert_ptr_null(ik_command_find("//model", 7));
    ck_assert_ptr_null(ik_command_find("/", 1));
    ck_assert_ptr_null(ik_command_find("", 0));
}
END_TEST

START_TEST(lines_that_are_no_messages)
{
    static const char *const lines[] = {"/help", "/", "/no-such x", "# Use tabs", "#\tx", "# #"};
    static const char *const messages[] = {
        "",     "help",          "/etc/hosts is broken", " /help", "#12 is broken", "#", "#  ",
        "## x", "# Title\nText", " # not at once",       "//x"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        ck_assert_msg(ik_command_is_line(lines[i]), "%s", lines[i]);
    }
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        ck_assert_msg(!ik_command_is_line(messages[i]), "%s", messages[i]);
    }
}
END_TEST

START_TEST(unknown_names_suggest_the_nearest)
{
    static const char *const cases[][2] = {
        {"/modell", "model"}, {"/ehpl", "help"},       {"/eixt", "exit"},
        {"/agent", "agents"}, {"/sess", "sessions"},   {"/tools", "tool"},
        {"/seach", "search"}, {"/comapct", "compact"}, {"/sesions x", "sessions"},
        {"/us", "usage"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *end = ik_sprintf(ctx, "Did you mean /%s?\n", cases[i][1]);
        assert_has(run(cases[i][0]), end);
    }
    ck_assert_str_eq(run("/modell x"),
                     "FAILED: There is no command /modell. Did you mean /model?\n");
    ck_assert_str_eq(run("/quit"), "[leave]\n"); /* an alias is a name */
}
END_TEST

START_TEST(what_is_near_nothing_gets_no_suggestion)
{
    static const char *const cases[] = {
        "/xyzzy", "/",
        "/ help", "/usr/bin/env is broken",
        "/ls",    "/a-name-that-is-longer-than-any-command-would-ever-be"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_lacks(run(cases[i]), "Did you mean");
        assert_has(said.data, "FAILED: There is no command /");
        assert_has(said.data, "/help lists all.");
    }
}
END_TEST

START_TEST(wrong_use_prints_the_usage_line)
{
    size_t count;
    const ik_command_t *const *table = ik_command_table(&count);
    for (size_t i = 0; i < count; i++) {
        char *usage_line = ik_sprintf(ctx, "FAILED: Usage: /%s%s%s\n", table[i]->name,
                                      *table[i]->usage == '\0' ? "" : " ", table[i]->usage);
        char *line = ik_sprintf(ctx, "/%s", table[i]->name);
        if (table[i]->min_args > 0) {
            ck_assert_str_eq(run(line), usage_line);
        }
        for (size_t k = 0; k <= table[i]->max_args && table[i]->max_args < SIZE_MAX; k++) {
            line = ik_sprintf(ctx, "%s x", line);
        }
        if (!(table[i]->flags & IK_COMMAND_TAKES_REST) && table[i]->max_args < SIZE_MAX) {
            ck_assert_str_eq(run(line), usage_line);
        }
    }
}
END_TEST

START_TEST(words_are_cut_at_white_space_that_is_not_quoted)
{
    ck_assert_str_eq(run("/show 7"), "[show 7]\n");
    ck_assert_str_eq(run("/show \t 7\n"), "[show 7]\n");
    ck_assert_str_eq(run("/show '7'"), "[show 7]\n");
    ck_assert_str_eq(run("/show 1\"2\"3"), "[show 123]\n");
    assert_has(run("/show 'a b'"), "'a b' is not a positive number");
    assert_has(run("/show \"a 'b\""), "'a 'b' is not a positive number");
    assert_has(run("/show 'never closed "), "'never closed' is not a positive number");
    assert_has(run("/show 'a' b"), "FAILED: Usage: /show N");
}
END_TEST

START_TEST(some_wait_for_the_end_of_the_turn)
{
    size_t count;
    const ik_command_t *const *table = ik_command_table(&count);
    ik_buffer_t idle;
    ik_buffer_init(&idle, ctx, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < count; i++) {
        if (!(table[i]->flags & IK_COMMAND_NEEDS_IDLE)) {
            continue;
        }
        said.len = 0;
        ik_buffer_append_format(&idle, "%s ", table[i]->name);
        ik_command_run(&host, ik_sprintf(ctx, "/%s", table[i]->name), true);
        assert_has(said.data, "has to wait until the turn has ended");
    }
    ck_assert_str_eq(idle.data, "clear compact fork login logout model redo resume rewind undo ");
    said.len = 0;
    ik_command_run(&host, "/exit", true);
    ck_assert_str_eq(said.data, "[leave]\n");
}
END_TEST

START_TEST(some_wait_for_tools)
{
    static const char *const waiting[] = {"/tool", "/tool bash", "/trust", "/refresh"};
    static const char *const others[] = {"/tool a b", "/exit", "/nonsense"};
    for (size_t i = 0; i < sizeof(waiting) / sizeof(waiting[0]); i++) {
        ck_assert(ik_command_must_wait(&host, waiting[i]));
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        ck_assert(!ik_command_must_wait(&host, others[i]));
    }
}
END_TEST

START_TEST(numbers_are_checked)
{
    static const char *const names[] = {"switch", "kill", "show"};
    static const char *const wrong[] = {"x",  "0",   "-1", "1x",
                                        "+1", "1.5", "''", "99999999999999999999"};
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
            run(ik_sprintf(ctx, "/%s %s", names[i], wrong[k]));
            assert_has(said.data, "is not a positive number. Usage: /");
        }
    }
    assert_has(run("/switch 3"), "There is no agent 3.");
    assert_has(run("/kill 3"), "There is no agent 3.");
    assert_has(run("/kill 1"), "is the only one");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("command");
    TCase *tests = tcase_create("command");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, the_table_is_sorted_and_complete);
    tcase_add_test(tests, a_name_is_found_with_and_without_the_slash_but_whole);
    tcase_add_test(tests, lines_that_are_no_messages);
    tcase_add_test(tests, unknown_names_suggest_the_nearest);
    tcase_add_test(tests, what_is_near_nothing_gets_no_suggestion);
    tcase_add_test(tests, wrong_use_prints_the_usage_line);
    tcase_add_test(tests, words_are_cut_at_white_space_that_is_not_quoted);
    tcase_add_test(tests, some_wait_for_the_end_of_the_turn);
    tcase_add_test(tests, some_wait_for_tools);
    tcase_add_test(tests, numbers_are_checked);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

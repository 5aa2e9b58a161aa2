/* Scripts of a model that is made up: the tables of the program are too well-behaved to show what
 * quoting is for. That shells read it so is tests/e2e/test_completion.py. */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cli_completion.h"
#include "suite.h"

#define HELP "it's [a]: \\ $(b) `c` \"d\" %e"

typedef void (*append_fn)(ik_buffer_t *out, const ik_cli_completion_model_t *model);

static char *script; /* of the last call of format */

static void format(append_fn append)
{
    static ik_cli_completion_place_t value = {
        .name = "x|y", .kind = IK_CLI_COMPLETION_WORDS, .words = "x y"};
    static ik_cli_completion_word_t next = {.name = "go", .help = HELP};
    static ik_cli_completion_word_t option = {.name = "--how", .help = HELP, .value = &value};
    static ik_cli_completion_place_t argument = {
        .name = "A:B", .kind = IK_CLI_COMPLETION_TEXT, .words = "", .optional = true};
    static ik_cli_completion_node_t root = {.name = "",
                                            .next = &next,
                                            .next_count = 1,
                                            .options = &option,
                                            .option_count = 1,
                                            .arguments = &argument,
                                            .argument_count = 1};
    static ik_cli_completion_node_t *nodes[] = {&root};
    static const ik_cli_completion_model_t model = {.nodes = nodes, .count = 1};
    ik_buffer_t out;
    ik_buffer_init(&out, NULL, IK_BUFFER_UNLIMITED);
    append(&out, &model);
    talloc_free(script);
    script = ik_buffer_finish(&out);
}

static void assert_holds(const char *part)
{
    ck_assert_msg(strstr(script, part) != NULL, "%s\nis not in\n%s", part, script);
}

static void tear_down(void)
{
    talloc_free(script);
    script = NULL;
}

START_TEST(bash_gets_names_only)
{
    format(ik_cli_completion_bash_append);
    assert_holds("'') next=(go) ;;\n");
    assert_holds("'') options=(--how) ;;\n");
    assert_holds("' --how') place=(words x y) ;;\n");
    assert_holds("' 1') place=(maybe text) ;;\n");
    ck_assert_ptr_null(strstr(script, "$(b)"));
}
END_TEST

START_TEST(zsh_gets_specifications)
{
    format(ik_cli_completion_zsh_append);
    assert_holds("'go:it'\\''s \\[a\\]\\: \\\\ $(b) `c` \"d\" %e'\n");
    assert_holds("'--how[it'\\''s \\[a\\]\\: \\\\ $(b) `c` \"d\" %e]:x|y:(x y)'\n");
    assert_holds("'1::A\\:B:_ikigai_text'\n");
}
END_TEST

START_TEST(fish_gets_words_and_notes)
{
    format(ik_cli_completion_fish_append);
    assert_holds("go 'it\\'s [a]: \\\\ $(b) `c` \"d\" %e'\n");
    assert_holds("--how 'it\\'s [a]: \\\\ $(b) `c` \"d\" %e'\n");
    assert_holds("case ' --how'\n            printf '%s\\n' words x y\n");
    assert_holds("case ' 1'\n            printf '%s\\n' maybe text\n");
}
END_TEST

/* --- the model of the program ------------------------------------------------------------ */

static const struct {
    const char *command;
    const char *option; /* NULL: its first argument */
    ik_cli_completion_kind_t kind;
    const char *words;
    bool optional, repeats;
} places[] = {
    {"", NULL, IK_CLI_COMPLETION_TEXT, "", true, true},
    {"", "-m", IK_CLI_COMPLETION_LIST, "models", false, false},
    {"", "--model", IK_CLI_COMPLETION_LIST, "models", false, false},
    {"", "-r", IK_CLI_COMPLETION_LIST, "sessions", true, false},
    {"", "--max-turns", IK_CLI_COMPLETION_TEXT, "", false, false},
    {"tool run", NULL, IK_CLI_COMPLETION_LIST, "tools", false, false},
    {"tool new", NULL, IK_CLI_COMPLETION_TEXT, "", false, false},
    {"tool new", "--lang", IK_CLI_COMPLETION_WORDS, "sh python c", false, false},
    {"tool check", NULL, IK_CLI_COMPLETION_FILES, "", false, false},
    {"session import", NULL, IK_CLI_COMPLETION_FILES, "", false, false}, /* FILE|- */
    {"session delete", NULL, IK_CLI_COMPLETION_LIST, "sessions", false, true},
    {"session search", NULL, IK_CLI_COMPLETION_TEXT, "", false, true},
    {"trust", NULL, IK_CLI_COMPLETION_FOLDERS, "", true, false},
    {"help", NULL, IK_CLI_COMPLETION_LIST, "topics", true, true},
};

static const ik_cli_completion_place_t *find_place(const ik_cli_completion_node_t *node,
                                                   const char *option)
{
    if (option == NULL) {
        ck_assert_uint_gt(node->argument_count, 0);
        return &node->arguments[0];
    }
    for (size_t i = 0; i < node->option_count; i++) {
        if (strcmp(node->options[i].name, option) == 0) {
            return node->options[i].value;
        }
    }
    return NULL;
}

START_TEST(usages_are_understood)
{
    ik_cli_completion_model_t *model = ik_cli_completion_model_create(NULL);
    const ik_cli_completion_place_t *place = NULL;
    for (size_t i = 0; i < model->count; i++) {
        if (strcmp(model->nodes[i]->name, places[_i].command) == 0) {
            place = find_place(model->nodes[i], places[_i].option);
        }
    }
    ck_assert_ptr_nonnull(place);
    ck_assert_int_eq(place->kind, places[_i].kind);
    ck_assert_str_eq(place->words, places[_i].words);
    ck_assert_int_eq(place->optional, places[_i].optional);
    ck_assert_int_eq(place->repeats, places[_i].repeats);
    talloc_free(model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_completion");
    TCase *tests = tcase_create("cli_completion");
    tcase_add_checked_fixture(tests, NULL, tear_down);
    tcase_add_test(tests, bash_gets_names_only);
    tcase_add_test(tests, zsh_gets_specifications);
    tcase_add_test(tests, fish_gets_words_and_notes);
    tcase_add_loop_test(tests, usages_are_understood, 0, sizeof(places) / sizeof(*places));
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

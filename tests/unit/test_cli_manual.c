#include "cli/cli_manual.h"

#include "base/alloc.h"
#include "cli/cli_manual_fit.h"
#include "scratch.h"

static void *ctx;
static ik_paths_t paths;

static void set_up(void)
{
    scratch_empty();
    ctx = talloc_new(NULL);
    scratch_make_folder("manual");
    paths = (ik_paths_t){.manual = ik_strdup(ctx, scratch_path("manual"))};
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static char *format(const char *words)
{
    char *text;
    res_t result = ik_cli_manual_format(ctx, &paths, words, &text);
    ck_assert_msg(is_ok(&result), "%s", result.message);
    return text;
}

static char *expand(const char *markdown)
{
    char *text;
    res_t result = ik_cli_manual_expand(ctx, &paths, markdown, &text);
    ck_assert_msg(is_ok(&result), "%s", result.message);
    return text;
}

static void assert_has(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "%s\nis not in\n%s", part, text);
}

/* --- topics ------------------------------------------------------------------------------ */

START_TEST(chapters_follow_the_tables)
{
    scratch_write("manual/zebra.md", "# About `zebras`\n\nStripes.\n");
    scratch_write("manual/ape.md", "no heading\n");
    scratch_write("manual/.hidden.md", "# Hidden\n");
    scratch_write("manual/notes.txt", "# Notes\n");
    size_t count;
    ik_cli_topic_t *topics = ik_cli_manual_topics(ctx, &paths, &count);
    ck_assert_uint_ge(count, 3);
    ck_assert_str_eq(topics[0].name, "options");
    ck_assert_str_eq(topics[count - 2].name, "ape");
    ck_assert_str_eq(topics[count - 2].help, "");
    ck_assert_str_eq(topics[count - 1].name, "zebra");
    ck_assert_str_eq(topics[count - 1].help, "About zebras");
    ck_assert_str_eq(topics[count - 3].name, "exit");
}
END_TEST

START_TEST(no_folder_means_no_chapters)
{
    size_t count;
    paths.manual = "/nowhere/at/all";
    ik_cli_topic_t *topics = ik_cli_manual_topics(ctx, &paths, &count);
    ck_assert_str_eq(topics[count - 1].name, "exit");
}
END_TEST

START_TEST(comments_of_a_chapter_are_not_shown)
{
    scratch_write("manual/zebra.md",
                  "# Zebras\n\n<!-- topic: exit -->\nold\n<!-- end of topic -->\n"
                  "```\n<!-- code -->\n```\n");
    ck_assert_str_eq(format("zebra"), "# Zebras\n\nold\n```\n<!-- code -->\n```\n");
}
END_TEST

START_TEST(a_chapter_that_cannot_be_read_says_so)
{
    char *text;
    ck_assert_int_eq(symlink("nowhere", scratch_path("manual/zebra.md")), 0);
    ck_assert_int_eq(ik_cli_manual_format(ctx, &paths, "zebra", &text).code, IK_ERR_NOT_FOUND);
    scratch_make_folder("manual/ape.md");
    ck_assert_int_eq(ik_cli_manual_format(ctx, &paths, "ape", &text).code, IK_ERR_INVALID);
}
END_TEST

/* --- words ------------------------------------------------------------------------------- */

START_TEST(one_group_is_a_topic_of_its_own)
{
    ck_assert_str_eq(format("tool check"),
                     "# ikigai tool check\n\n`ikigai tool check PATH`\n\n"
                     "Runs your executable through the tool protocol and says what to fix.\n");
}
END_TEST

START_TEST(rows_are_found_by_their_names)
{
    assert_has(format("max_tool_turns"), "# Configuration\n\n| key | default | meaning |\n"
                                         "|---|---|---|\n| `max_tool_turns` | `50` | ");
    ck_assert_str_eq(format("providers.mine.api"), format("providers.NAME.api"));
    assert_has(format("ikigai_home"), "| `IKIGAI_HOME` | How ikigai behaves | ");
    assert_has(format("/fork"), "# Slash commands\n\n| command | meaning |\n|---|---|\n"
                                "| `/fork [PROMPT]` | ");
    ck_assert_str_eq(format("fork"), format("/fork"));
    assert_has(format("130"), "| `130` | ");
}
END_TEST

START_TEST(several_places_stand_under_the_word)
{
    char *text = format("trust");
    ck_assert_int_eq(strncmp(text, "# trust\n\n## ikigai trust\n\n`ikigai trust [DIR]", 44), 0);
    assert_has(text, "\n## Slash commands\n\n| command | meaning |\n|---|---|\n| `/trust` | ");
    assert_has(format("--json"), "| `--json` | ikigai tool list | print JSON |\n");
    assert_has(format("session"), "\n## ikigai session list\n");
}
END_TEST

START_TEST(a_bar_does_not_end_a_cell)
{
    assert_has(format("--lang"), "| `--lang sh\\|python\\|c` | ");
}
END_TEST

START_TEST(an_unknown_topic_is_an_error_that_suggests_the_closest)
{
    char *text;
    scratch_write("manual/zebra.md", "# Zebras\n");
    res_t result = ik_cli_manual_format(ctx, &paths, "zerba", &text);
    ck_assert_int_eq(result.code, IK_ERR_NOT_FOUND);
    ck_assert_str_eq(result.message, "No help topic 'zerba'. Did you mean 'zebra'?");
    result = ik_cli_manual_format(ctx, &paths, "max_tool_trns", &text);
    assert_has(result.message, "Did you mean 'max_tool_turns'?");
    result = ik_cli_manual_format(ctx, &paths, "../zebra", &text);
    ck_assert_int_eq(result.code, IK_ERR_NOT_FOUND);
    result = ik_cli_manual_format(ctx, &paths, "quite another thing", &text);
    assert_has(result.message, "Run ikigai help to see all topics.");
}
END_TEST

/* --- documents --------------------------------------------------------------------------- */

START_TEST(topics_take_the_place_of_their_marks)
{
    scratch_write("manual/zebra.md", "# Zebras\n\nStripes.\n\n## Black\n\n```\n## code\n```\n");
    ck_assert_str_eq(expand("a\n<!-- topic: zebra -->\nb\n"),
                     "a\nStripes.\n\n## Black\n\n```\n## code\n```\nb\n");
    ck_assert_str_eq(expand("### Deep\n<!-- topic: zebra -->"),
                     "### Deep\nStripes.\n\n#### Black\n\n```\n## code\n```\n");
}
END_TEST

START_TEST(what_a_place_held_is_replaced)
{
    scratch_write("manual/zebra.md", "# Zebras\n\nStripes.\n");
    ck_assert_str_eq(expand("<!-- topic: zebra -->\nold\n<!-- end of topic -->\nb\n"),
                     "Stripes.\nb\n");
    /* The end mark of another topic is not this one's. */
    ck_assert_str_eq(
        expand("<!-- topic: zebra -->\na\n<!-- topic: zebra -->\nold\n<!-- end of topic -->\nb\n"),
        "Stripes.\na\nStripes.\nb\n");
}
END_TEST

START_TEST(marks_in_code_and_other_comments)
{
    ck_assert_str_eq(expand("```\n<!-- topic: zebra -->\n```\n<!-- note -->\nx\n"),
                     "```\n<!-- topic: zebra -->\n```\nx\n");
    ck_assert_str_eq(expand(""), "");
}
END_TEST

START_TEST(a_document_with_an_unknown_topic_fails)
{
    char *text;
    res_t result = ik_cli_manual_expand(ctx, &paths, "<!-- topic: zebra -->\n", &text);
    ck_assert_int_eq(result.code, IK_ERR_NOT_FOUND);
    assert_has(result.message, "zebra");
}
END_TEST

/* --- the screen -------------------------------------------------------------------------- */

static const char wide[] = "x\n\n| key | default | meaning |\n|---|:-:|---|\n"
                           "| `a_long_key_of_thirty_columns_x` | `50` | words \\| more |\n"
                           "| `b\\|c` |  |  |\n\ny\n";

START_TEST(a_cramped_table_becomes_a_list)
{
    /* The first two columns take 30 + 2 + 7 + 2. */
    ck_assert_str_eq(ik_cli_manual_fit(ctx, wide, 82), wide);
    ck_assert_str_eq(ik_cli_manual_fit(ctx, wide, 81),
                     "x\n\n- `a_long_key_of_thirty_columns_x` (default: `50`)\\\n  words | more\n"
                     "- `b|c`\n\ny\n");
}
END_TEST

START_TEST(what_is_no_table_stays)
{
    static const char *const texts[] = {
        "| no ruler below | x |\n| a | b |\n",
        "```\n| a long first column in code | b |\n|---|---|\n| x | y |\n```\n",
        "| one column which is quite long |\n|---|\n| x |\n",
        "| group | member that is long | x |\n|---|---|---|\n| a | b | c |\n| | d | e |\n",
        "| a |",
        "",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        ck_assert_str_eq(ik_cli_manual_fit(ctx, texts[i], 20), texts[i]);
    }
}
END_TEST

START_TEST(links_to_chapters_become_commands)
{
    ck_assert_str_eq(
        ik_cli_manual_fit(ctx,
                          "See [sessions.md](sessions.md), [the keys](keys.md#all), "
                          "[web](https://x.example/a.md), [a] (b), `x[1](2)`.\n",
                          80),
        "See `ikigai help sessions`, the keys, [web](https://x.example/a.md), [a] (b), "
        "`x[1](2)`.\n");
    ck_assert_str_eq(ik_cli_manual_fit(ctx, "```\n[a.md](a.md)\n```\n", 80),
                     "```\n[a.md](a.md)\n```\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_manual");
    TCase *tests = tcase_create("cli_manual");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, chapters_follow_the_tables);
    tcase_add_test(tests, no_folder_means_no_chapters);
    tcase_add_test(tests, comments_of_a_chapter_are_not_shown);
    tcase_add_test(tests, a_chapter_that_cannot_be_read_says_so);
    tcase_add_test(tests, one_group_is_a_topic_of_its_own);
    tcase_add_test(tests, rows_are_found_by_their_names);
    tcase_add_test(tests, several_places_stand_under_the_word);
    tcase_add_test(tests, a_bar_does_not_end_a_cell);
    tcase_add_test(tests, an_unknown_topic_is_an_error_that_suggests_the_closest);
    tcase_add_test(tests, topics_take_the_place_of_their_marks);
    tcase_add_test(tests, what_a_place_held_is_replaced);
    tcase_add_test(tests, marks_in_code_and_other_comments);
    tcase_add_test(tests, a_document_with_an_unknown_topic_fails);
    tcase_add_test(tests, a_cramped_table_becomes_a_list);
    tcase_add_test(tests, what_is_no_table_stays);
    tcase_add_test(tests, links_to_chapters_become_commands);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}

/* Calls of tools and their results as rows: what is shown of them and what is not. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "repl/repl_rows.h"
#include "suite.h"

static void *ctx;
static ik_theme_t bare;
static ik_buffer_t given; /* rows, each with a '\n' behind it */

static void on_row(void *data, const char *bytes, size_t len)
{
    (void)data;
    ik_buffer_append(&given, bytes, len);
    ik_buffer_append_byte(&given, '\n');
}

static void set_up(void)
{
    ctx = talloc_new(NULL);
    ik_theme_init(&bare, IK_BACKGROUND_DARK, false, false);
    ik_buffer_init(&given, ctx, IK_BUFFER_UNLIMITED);
}

static void tear_down(void)
{
    talloc_free(ctx);
}

static void expect(bool full, int64_t wall_ms, const char *envelope, const char *wanted)
{
    ik_rows_t rows = {.theme = &bare, .columns = 80, .full = full, .on_row = on_row};
    ik_repl_call_t call = {.name = "bash", .arguments = "{\"command\":\"x\"}", .arguments_len = 15};
    ik_repl_result_t result = {
        .number = 3, .output = envelope, .output_len = strlen(envelope), .wall_ms = wall_ms};
    given.len = 0;
    ik_repl_rows_tool(&rows, &call, &result);
    ck_assert_str_eq(given.data, ik_sprintf(ctx, "● bash  command: x\n%s", wanted));
}

#define FAILURE(code, out)                                                                         \
    "{\"tool_success\":false,\"error\":\"Why\",\"error_code\":\"" code "\",\"exit_code\":null,"    \
    "\"stdout\":\"" out "\",\"stderr\":\"\"}"

START_TEST(what_was_interrupted_has_not_failed)
{
    expect(false, 20, FAILURE("INTERRUPTED", ""), "└ #3 interrupted  20 ms\n");
    expect(true, 20, FAILURE("INTERRUPTED", ""), "└ #3 interrupted  20 ms\n");
    expect(false, -1, FAILURE("INTERRUPTED", ""), "└ #3 interrupted  Why\n");
}
END_TEST

START_TEST(what_an_interrupted_tool_had_printed_is_shown)
{
    expect(false, 20, FAILURE("INTERRUPTED", "one"), "└ #3 interrupted  20 ms\none\n");
    expect(false, 20, FAILURE("INTERRUPTED", "one\\ntwo\\n"),
           "└ #3 interrupted  20 ms\none\ntwo\n");
}
END_TEST

START_TEST(what_is_empty_says_nothing_about_a_failure)
{
    expect(false, 20, FAILURE("TOOL_TIMEOUT", ""),
           "└ #3 failed  20 ms  error: Why  error_code: TOOL_TIMEOUT\n");
    expect(false, 20, FAILURE("TOOL_TIMEOUT", "so far"),
           "└ #3 failed  20 ms  error: Why  error_code: TOOL_TIMEOUT  stdout: so far\n");
    expect(true, 20, FAILURE("TOOL_TIMEOUT", ""),
           "└ #3 failed  20 ms  error: Why  error_code: TOOL_TIMEOUT  exit_code: null  stdout:   "
           "stderr: \n");
}
END_TEST

START_TEST(a_limit_is_announced_elsewhere)
{
    static const char envelope[] = "{\"tool_success\":true,\"result\":{\"output\":\"x\","
                                   "\"limit_reached\":true,\"limit_message\":\"Enough\"}}";
    expect(false, 20, envelope, "└ #3 ok  20 ms\nx\n");
    expect(true, 20, envelope, "└ #3 ok  20 ms  limit_reached: true  limit_message: Enough\nx\n");
}
END_TEST

START_TEST(an_edit_may_contain_nul)
{
    static const char arguments[] =
        "{\"file_path\":\"f\",\"old_string\":\"a\\u0000bcd\",\"new_string\":\"\\u0000\"}";
    static const char envelope[] = "{\"tool_success\":true,\"result\":{\"output\":\"x\"}}";
    ik_rows_t rows = {.theme = &bare, .columns = 80, .on_row = on_row};
    ik_repl_call_t call = {
        .name = "file_edit", .arguments = arguments, .arguments_len = sizeof(arguments) - 1};
    ik_repl_result_t result = {
        .number = 1, .output = envelope, .output_len = sizeof(envelope) - 1, .wall_ms = 5};
    ik_repl_rows_tool(&rows, &call, &result);
    ck_assert_str_eq(given.data, "● file_edit  file_path: f\n"
                                 "@@ -1,1 +1,1 @@\n-abcd\n+\n└ #1 ok  5 ms\n");
}
END_TEST

/* --- brief rows -------------------------------------------------------------------------- */

static const char *brief(int columns, const char *name, const char *arguments, const char *envelope)
{
    ik_rows_t rows = {.theme = &bare, .columns = columns, .brief = true, .on_row = on_row};
    ik_repl_call_t call = {
        .name = name, .arguments = arguments, .arguments_len = strlen(arguments)};
    ik_repl_result_t result = {
        .number = 12, .output = envelope, .output_len = strlen(envelope), .wall_ms = 20};
    given.len = 0;
    ik_repl_rows_tool(&rows, &call, &result);
    return given.data;
}

#define GOOD(members) "{\"tool_success\":true,\"result\":{" members "}}"

START_TEST(a_read_or_search_is_one_row)
{
    static const char file[] = "{\"file_path\":\"src/main.c\",\"limit\":3}";
    static const char where[] = "{\"pattern\":\"a.*\\nb\",\"path\":\"src\"}";
    static const char pattern[] = "{\"pattern\":\"*.c\"}";
    ck_assert_str_eq(brief(80, "file_read", file, GOOD("\"output\":\"a\\nb\\n\"")),
                     "● file_read  src/main.c  2 lines  20 ms  /show 12\n");
    ck_assert_str_eq(brief(80, "file_read", file, GOOD("\"output\":\"a\",\"truncated\":true")),
                     "● file_read  src/main.c  1 line, truncated  20 ms  /show 12\n");
    ck_assert_str_eq(brief(80, "file_read", file, GOOD("\"output\":\"\"")),
                     "● file_read  src/main.c  0 lines  20 ms  /show 12\n");
    ck_assert_str_eq(brief(80, "grep", where, GOOD("\"output\":\"a:1\",\"count\":1")),
                     "● grep  a.* b in src  1 match found  20 ms  /show 12\n");
    ck_assert_str_eq(
        brief(80, "glob", pattern, GOOD("\"output\":\"\",\"count\":0,\"warnings\":[\"w\"]")),
        "● glob  *.c  0 files found, warnings  20 ms  /show 12\n");
    ck_assert_str_eq(brief(80, "file_read", "not JSON", GOOD("\"output\":\"a\"")),
                     "● file_read    1 line  20 ms  /show 12\n");
    ck_assert_str_eq(brief(80, "grep", where, "not JSON"),
                     "● grep  a.* b in src  1 line  20 ms  /show 12\n");
}
END_TEST

START_TEST(one_row_fits_into_the_width)
{
    static const char file[] =
        "{\"file_path\":\"src/terminal/a_file_with_a_long_name\\u001b[2J.c\"}";
    static const char *const wanted[][2] = {
        {"80", "● file_read  src/terminal/a_file_with_a_long_name.c  1 line  20 ms  /show 12\n"},
        {"70", "● file_read  …inal/a_file_with_a_long_name.c  1 line  20 ms  /show 12\n"},
        {"40", "● file_read  …h_a_long_name.c  /show 12\n"},
        {"10", "● file_read  …long_name.c  /show 12\n"},
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        ck_assert_str_eq(brief(atoi(wanted[i][0]), "file_read", file, GOOD("\"output\":\"a\"")),
                         wanted[i][1]);
    }
}
END_TEST

#define LINES_OF_NINE "1\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9\\n"

START_TEST(other_results_end_with_their_last_lines)
{
    static const char arguments[] = "{\"command\":\"x\"}";
    ck_assert_str_eq(brief(80, "bash", arguments, GOOD("\"output\":\"" LINES_OF_NINE "\"")),
                     "● bash  command: x\n└ #12 ok  20 ms\n… 1 more line, /show 12\n"
                     "2\n3\n4\n5\n6\n7\n8\n9\n");
    ck_assert_str_eq(brief(80, "bash", arguments, GOOD("\"output\":\"1\\n2\\r3\"")),
                     "● bash  command: x\n└ #12 ok  20 ms\n1\n2\n3\n");
    ck_assert_str_eq(brief(80, "mine", "{}",
                           GOOD("\"list\":[\n1,\n2,\n3,\n4,\n5,\n6,\n7,\n8,\n9,"
                                "\n10,\n11,\n12,\n13,\n14,\n15,\n16,\n17,\n18,\n19,"
                                "\n20,\n21,\n22,\n23,\n24,\n25,\n26,\n27,\n28,\n29]")),
                     "● mine\n└ #12 ok  20 ms\nlist:\n… 22 more lines, /show 12\n"
                     "22,\n23,\n24,\n25,\n26,\n27,\n28,\n29]\n");
    ck_assert_str_eq(brief(80, "bash", arguments, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10"),
                     "● bash  command: x\n└ #12 ok  20 ms\n… 2 more lines, /show 12\n"
                     "3\n4\n5\n6\n7\n8\n9\n10\n");
}
END_TEST

START_TEST(a_failure_keeps_its_code)
{
    ck_assert_str_eq(
        brief(40, "file_read", "{\"file_path\":\"gone\"}",
              "{\"tool_success\":false,\"error\":\"There is no file gone\","
              "\"error_code\":\"FILE_NOT_FOUND\"}"),
        "● file_read  file_path: gone\n"
        "└ #12 failed  20 ms  error: There is no file gone  error_code: FILE_NOT_FOUND\n");
    ck_assert_str_eq(
        brief(80, "bash", "{\"command\":\"x\"}", FAILURE("TOOL_TIMEOUT", LINES_OF_NINE)),
        "● bash  command: x\n"
        "└ #12 failed  20 ms  error: Why  error_code: TOOL_TIMEOUT\nstdout:\n"
        "… 1 more line, /show 12\n2\n3\n4\n5\n6\n7\n8\n9\n");
}
END_TEST

START_TEST(arguments_begin_with_their_first_lines)
{
    static const char written[] = "{\"file_path\":\"a\",\"content\":\"" LINES_OF_NINE "\"}";
    ck_assert_str_eq(
        brief(80, "bash", "{\"command\":\"" LINES_OF_NINE "\"}", GOOD("\"output\":\"\"")),
        "● bash\ncommand:\n1\n2\n3\n4\n5\n6\n7\n8\n… 1 more line, /show 12\n"
        "└ #12 ok  20 ms\n");
    ck_assert_str_eq(brief(80, "file_write", written, GOOD("\"output\":\"\",\"bytes\":18")),
                     "● file_write  file_path: a\ncontent:\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"
                     "└ #12 ok  20 ms\n");
}
END_TEST

/* More than is laid out at once: lines are counted all the same, and a line without an end is cut.
 */
START_TEST(a_large_result_is_short)
{
    static const char arguments[] = "{\"command\":\"x\"}";
    ik_buffer_t text;
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    for (int i = 1; i <= 100000; i++) {
        ik_buffer_append_format(&text, "%d\n", i);
    }
    ck_assert_str_eq(brief(80, "bash", arguments, text.data),
                     "● bash  command: x\n└ #12 ok  20 ms\n… 99,992 more lines, /show 12\n"
                     "99993\n99994\n99995\n99996\n99997\n99998\n99999\n100000\n");
    ik_buffer_reset(&text);
    for (int i = 0; i < 100000; i++) {
        ik_buffer_append_text(&text, "ä");
    }
    const char *rows = brief(80, "bash", arguments, text.data);
    const char *cut = strstr(rows, "… 2 more lines, /show 12\nää");
    ck_assert_ptr_nonnull(cut);
    ck_assert_ptr_nonnull(strstr(cut, "ää…\n"));
    ck_assert_uint_lt(strlen(rows), 2200);
}
END_TEST

START_TEST(output_keeps_the_colour_it_had_before)
{
    ik_theme_t coloured;
    ik_theme_init(&coloured, IK_BACKGROUND_DARK, true, true);
    ik_rows_t rows = {.theme = &coloured, .columns = 80, .brief = true, .on_row = on_row};
    ik_repl_call_t call = {.name = "bash"};
    ik_repl_result_t result = {.number = 1, .wall_ms = -1};
    result.output = "\033[31m1\n2\n3\n4\n5\n6\n7\n8\n9";
    result.output_len = strlen(result.output);
    given.len = 0;
    ik_repl_rows_tool(&rows, &call, &result);
    ck_assert_ptr_nonnull(strstr(given.data, "\n\033[31m2\033[m\n"));
}
END_TEST

/* --- declared ways to show a result ------------------------------------------------------- */

/* The rows after those of the call. */
static const char *shown(ik_display_t display, bool short_rows, bool full, const char *envelope)
{
    ik_rows_t rows = {
        .theme = &bare, .columns = 40, .brief = short_rows, .full = full, .on_row = on_row};
    ik_repl_call_t call = {.name = "t", .arguments = "{\"todos\":[1]}", .arguments_len = 13};
    ik_repl_result_t result = {.number = 3,
                               .output = envelope,
                               .output_len = strlen(envelope),
                               .wall_ms = -1,
                               .display = display};
    given.len = 0;
    ik_repl_rows_tool(&rows, &call, &result);
    return given.data;
}

#define LIST(name)                                                                                 \
    "\"" name "\":[{\"content\":\"a\\u001b[2J\\nb\",\"status\":\"completed\"},"                    \
    "{\"content\":\"c\",\"status\":\"in_progress\"},{\"content\":\"d\",\"status\":\"pending\"}]"

START_TEST(a_checklist)
{
    static const char items[] = "[x] a b\n[>] c\n[ ] d\n";
    ck_assert_str_eq(shown(IK_DISPLAY_CHECKLIST, false, false, GOOD(LIST("todos") ",\"open\":2")),
                     ik_sprintf(ctx, "● t\n└ #3 ok  open: 2\n%s", items));
    ck_assert_str_eq(shown(IK_DISPLAY_CHECKLIST, true, false, GOOD(LIST("todos") ",\"open\":2")),
                     ik_sprintf(ctx, "● t\n└ #3 ok  open: 2\n%s", items));
    ck_assert_str_eq(shown(IK_DISPLAY_CHECKLIST, false, true, GOOD(LIST("todos"))),
                     ik_sprintf(ctx, "● t  todos: [1]\n└ #3 ok\n%s", items));
    ck_assert_str_eq(shown(IK_DISPLAY_CHECKLIST, false, false, GOOD("\"a\":1," LIST("steps"))),
                     ik_sprintf(ctx, "● t  todos: [1]\n└ #3 ok  a: 1\n%s", items));
    ck_assert_str_eq(
        shown(IK_DISPLAY_CHECKLIST, false, false,
              "{\"tool_success\":true,\"result\":[{\"content\":\"a\",\"status\":\"pending\"}]}"),
        "● t  todos: [1]\n└ #3 ok\n[ ] a\n");
    ik_buffer_t many;
    ik_buffer_init(&many, ctx, IK_BUFFER_UNLIMITED);
    for (int i = 0; i < 10; i++) {
        ik_buffer_append_format(&many, "%s{\"content\":\"%d\",\"status\":\"pending\"}",
                                i == 0 ? "" : ",", i);
    }
    const char *rows = shown(IK_DISPLAY_CHECKLIST, true, false,
                             ik_sprintf(ctx, "{\"tool_success\":true,\"result\":[%s]}", many.data));
    ck_assert_ptr_nonnull(strstr(rows, "\n[ ] 7\n… 2 more lines, /show 3\n"));
}
END_TEST

START_TEST(texts)
{
    static const char heading[] = "● t  todos: [1]\n└ #3 ok\n";
    static const struct {
        ik_display_t display;
        const char *envelope;
        const char *rows;
    } cases[] = {
        {IK_DISPLAY_MARKDOWN, GOOD("\"output\":\"- **a**\\n- b\\u001b]0;x\\u0007\""), "• a\n• b\n"},
        {IK_DISPLAY_MARKDOWN, GOOD("\"text\":\"- a\""), "• a\n"},
        {IK_DISPLAY_MARKDOWN, "{\"tool_success\":true,\"result\":\"- a\"}", "• a\n"},
        {IK_DISPLAY_DIFF, GOOD("\"output\":\"@@ -1 +1 @@\\n-a\\n+b\\u001b[2J\\n\""),
         "@@ -1 +1 @@\n-a\n+b\n"},
        {IK_DISPLAY_CODE, GOOD("\"output\":\"int a;\\n\\nint b;\""), "int a;\n\nint b;\n"},
        {IK_DISPLAY_TABLE,
         GOOD("\"rows\":[{\"a\":1,\"b\":\"*x*|\\u001b[2J\\ny\"},{\"c\":null,\"a\":\"z\"}]"),
         "a  b       c\n─  ──────  ─\n1  *x*| y\nz\n"},
        {IK_DISPLAY_TABLE, GOOD("\"rows\":[[1,2],[3]],\"columns\":[\"x\",\"y\"]"), NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *rows = shown(cases[i].display, false, false, cases[i].envelope);
        if (cases[i].rows != NULL) {
            ck_assert_str_eq(rows, ik_sprintf(ctx, "%s%s", heading, cases[i].rows));
        } else {
            ck_assert_ptr_nonnull(strstr(rows, "x  y\n─  ─\n1  2\n3\n"));
        }
    }
}
END_TEST

/* What does not have the shape, and a failure, is shown as ever. */
START_TEST(other_shapes)
{
    static const char *const envelopes[] = {
        GOOD("\"a\":1"),
        GOOD("\"output\":[]"),
        GOOD("\"output\":7,\"text\":{}"),
        GOOD("\"todos\":[]"),
        GOOD("\"todos\":[{\"content\":\"a\",\"status\":\"done\"}]"),
        GOOD("\"todos\":[1,{\"content\":\"a\",\"status\":\"pending\"}]"),
        GOOD("\"rows\":[[1],{}]"),
        GOOD("\"images\":[]"),
        GOOD("\"error\":\"no\",\"output\":\"- a\",\"todos\":[{\"content\":\"a\",\"status\":"
             "\"pending\"}]"),
        "{\"tool_success\":false,\"error\":\"no\",\"stdout\":\"- a\"}",
        "not JSON",
        "[1]",
    };
    for (size_t i = 0; i < sizeof(envelopes) / sizeof(envelopes[0]); i++) {
        for (ik_display_t display = IK_DISPLAY_DIFF; display < IK_DISPLAY_COUNT; display++) {
            if (i == 4 && display == IK_DISPLAY_TABLE) {
                continue; /* it is a table */
            }
            char *usual = ik_strdup(ctx, shown(IK_DISPLAY_USUAL, false, false, envelopes[i]));
            ck_assert_str_eq(shown(display, false, false, envelopes[i]), usual);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("repl_rows");
    TCase *all = tcase_create("rows");
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, what_was_interrupted_has_not_failed);
    tcase_add_test(all, what_an_interrupted_tool_had_printed_is_shown);
    tcase_add_test(all, what_is_empty_says_nothing_about_a_failure);
    tcase_add_test(all, a_limit_is_announced_elsewhere);
    tcase_add_test(all, an_edit_may_contain_nul);
    tcase_add_test(all, a_read_or_search_is_one_row);
    tcase_add_test(all, one_row_fits_into_the_width);
    tcase_add_test(all, other_results_end_with_their_last_lines);
    tcase_add_test(all, a_failure_keeps_its_code);
    tcase_add_test(all, arguments_begin_with_their_first_lines);
    tcase_add_test(all, a_large_result_is_short);
    tcase_add_test(all, output_keeps_the_colour_it_had_before);
    tcase_add_test(all, a_checklist);
    tcase_add_test(all, texts);
    tcase_add_test(all, other_shapes);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}

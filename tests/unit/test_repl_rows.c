/* Results of tools as rows: what is shown of them and what is not. */
#include <check.h>
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
    ik_repl_rows_result(&rows, &call, &result);
    ck_assert_str_eq(given.data, wanted);
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

int main(void)
{
    Suite *suite = suite_create("repl_rows");
    TCase *all = tcase_create("rows");
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, what_was_interrupted_has_not_failed);
    tcase_add_test(all, what_an_interrupted_tool_had_printed_is_shown);
    tcase_add_test(all, what_is_empty_says_nothing_about_a_failure);
    tcase_add_test(all, a_limit_is_announced_elsewhere);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}

/* The row that says what is going on fits every width and keeps the key longest. */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "repl/repl_working.h"
#include "suite.h"

static const char *draw(void *ctx, const char *what, int64_t silent_ms, int columns)
{
    static ik_theme_t theme;
    ik_row_t row;
    ik_theme_init(&theme, IK_BACKGROUND_UNKNOWN, false, false);
    ik_row_init(&row, ctx, &theme);
    ik_repl_working_draw(
        &row,
        &(ik_repl_working_t){
            .what = what, .role = IK_ROLE_DIM, .elapsed_ms = 12 * 1000, .silent_ms = silent_ms},
        "*", columns);
    return row.bytes.data == NULL ? "" : row.bytes.data;
}

START_TEST(what_is_left_at_every_width)
{
    static const struct {
        int columns;
        int64_t silent_ms;
        const char *row;
    } cases[] = {
        {80, -1, "* Working · 12 s · esc to interrupt"},
        {40, -1, "* Working · 12 s · esc to interrupt"},
        {36, -1, "* Working · 12 s · esc to interrupt"},
        {35, -1, "12 s · esc to interrupt"},
        {24, -1, "12 s · esc to interrupt"},
        {23, -1, "esc to interrupt"},
        {17, -1, "esc to interrupt"},
        {80, 2999, "* Working · 12 s · esc to interrupt"},
        {80, 3000, "* Working · 12 s · nothing received for 3 s · esc to interrupt"},
        {60, 3000, "* Working · nothing received for 3 s · esc to interrupt"},
        {50, 3000, "nothing received for 3 s · esc to interrupt"},
        {40, 3000, "* Working · 12 s · esc to interrupt"},
    };
    void *ctx = talloc_new(NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ck_assert_str_eq(draw(ctx, "Working", cases[i].silent_ms, cases[i].columns), cases[i].row);
    }
    talloc_free(ctx);
}
END_TEST

START_TEST(a_long_text_is_cut)
{
    void *ctx = talloc_new(NULL);
    ck_assert_str_eq(draw(ctx, "attempt 2 of 5 in 30 s: HTTP 429", -1, 50),
                     "* attempt 2 of 5 in 30… · 12 s · esc to interrupt");
    for (int columns = 17; columns < 120; columns++) {
        const char *row =
            draw(ctx, "attempt 2 of 5 in 30 s: 日本語日本語日本語日本語", 5000, columns);
        ck_assert_int_lt(ik_row_width(row, strlen(row)), columns);
        ck_assert_ptr_nonnull(strstr(row, "esc to interrupt"));
    }
    talloc_free(ctx);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("repl_working");
    TCase *tests = tcase_create("row");
    tcase_add_test(tests, what_is_left_at_every_width);
    tcase_add_test(tests, a_long_text_is_cut);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

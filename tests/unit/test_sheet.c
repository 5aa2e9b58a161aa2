#include <check.h>

#include "base/alloc.h"
#include "suite.h"
#include "terminal/sheet.h"

/* All lines of a sheet as "left|right\n". */
static const char *lines(const char *left, const char *right, size_t left_width, size_t right_width)
{
    static char out[1024];
    ik_sheet_t sheet = {.left = left, .right = right};
    ik_sheet_line_t line;
    size_t len = 0;
    out[0] = '\0';
    while (ik_sheet_next(&sheet, left_width, right_width, &line)) {
        len += (size_t)snprintf(out + len, sizeof(out) - len, "%.*s|%.*s\n", line.left_len,
                                line.left, line.right_len, line.right);
        ck_assert_uint_lt(len, sizeof(out));
    }
    return out;
}

START_TEST(what_fits_is_one_line)
{
    ck_assert_str_eq(lines("Ctrl-A, Home", "to the start", 12, 12), "Ctrl-A, Home|to the start\n");
    ck_assert_str_eq(lines("", "text", 5, 5), "|text\n");
    ck_assert_str_eq(lines("text", "", 5, 5), "text|\n");
    ck_assert_str_eq(lines("", "", 5, 5), "");
}
END_TEST

START_TEST(each_side_is_broken_by_itself)
{
    ck_assert_str_eq(lines("Ctrl-A, Home", "to the start", 11, 20),
                     "Ctrl-A,|to the start\nHome|\n");
    ck_assert_str_eq(lines("Home", "to the start of it", 11, 6), "Home|to the\n|start\n|of it\n");
    ck_assert_str_eq(lines("a, b, c, d", "one two three", 5, 8), "a, b,|one two\nc, d|three\n");
}
END_TEST

START_TEST(keys_of_a_sequence_stay_together)
{
    ck_assert_str_eq(lines("Ctrl-G, Ctrl-X Ctrl-E", "edits", 20, 9),
                     "Ctrl-G,|edits\nCtrl-X Ctrl-E|\n");
}
END_TEST

START_TEST(what_is_too_long_stands_alone)
{
    ck_assert_str_eq(lines("/export [FILE] [--format F]", "writes", 18, 20),
                     "/export [FILE] [--format F]|\n|writes\n");
    ck_assert_str_eq(lines("a, Ctrl-Backspace", "erases", 5, 20), "a,|erases\nCtrl-Backspace|\n");
    ck_assert_str_eq(lines("x", "unbreakable", 5, 4), "x|unbreakable\n");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("lines");
    tcase_add_test(tests, what_fits_is_one_line);
    tcase_add_test(tests, each_side_is_broken_by_itself);
    tcase_add_test(tests, keys_of_a_sequence_stay_together);
    tcase_add_test(tests, what_is_too_long_stands_alone);
    Suite *suite = suite_create("sheet");
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

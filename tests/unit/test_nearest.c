#include "base/nearest.h"

#include <limits.h>
#include <string.h>

#include "suite.h"

static int slips(const char *a, const char *b)
{
    return ik_nearest_distance(a, strlen(a), b, strlen(b));
}

START_TEST(slips_are_counted)
{
    ck_assert_int_eq(slips("tool", "tool"), 0);
    ck_assert_int_eq(slips("TOOL", "tool"), 0);
    ck_assert_int_eq(slips("tol", "tool"), 1);
    ck_assert_int_eq(slips("tooll", "tool"), 1);
    ck_assert_int_eq(slips("toul", "tool"), 1);
    ck_assert_int_eq(slips("tolo", "tool"), 1);
    ck_assert_int_eq(slips("ootl", "tool"), 2);
    ck_assert_int_eq(slips("", "tool"), 4);
    ck_assert_int_eq(slips("", ""), 0);
    ck_assert_int_eq(slips("kitten", "sitting"), 3);
}
END_TEST

START_TEST(what_is_too_long_is_no_slip)
{
    char word[41 + 1];
    memset(word, 'x', 41);
    word[41] = '\0';
    ck_assert_int_eq(slips(word, word), INT_MAX);
    ck_assert_int_eq(slips("x", word), INT_MAX);
    ck_assert_int_eq(slips(word + 1, word + 1), 0);
}
END_TEST

static const char *nearest_of(const char *word)
{
    static const char *const candidates[] = {"config", "configuration", "commands", "-m", "keys"};
    ik_nearest_t nearest;
    ik_nearest_init(&nearest, word, strlen(word));
    for (size_t i = 0; i < sizeof(candidates) / sizeof(*candidates); i++) {
        ik_nearest_offer(&nearest, candidates[i]);
    }
    return nearest.found;
}

START_TEST(the_nearest_is_found)
{
    ck_assert_str_eq(nearest_of("confgi"), "config");
    ck_assert_str_eq(nearest_of("conf"), "config");           /* the first of two with the prefix */
    ck_assert_str_eq(nearest_of("configu"), "configuration"); /* a prefix beats distance 1 */
    ck_assert_str_eq(nearest_of("COMANDS"), "commands");
    ck_assert_str_eq(nearest_of("comnads"), "commands"); /* distance 2 of seven letters */
    ck_assert_str_eq(nearest_of("-n"), "-m");
}
END_TEST

START_TEST(what_is_far_from_all_has_none)
{
    ck_assert_ptr_null(nearest_of(""));
    ck_assert_ptr_null(nearest_of("xyzzy"));
    ck_assert_ptr_null(nearest_of("xx"));       /* distance 2 is too much for a short word */
    ck_assert_ptr_null(nearest_of("cxmmxxds")); /* distance 3 */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nearest");
    TCase *tests = tcase_create("nearest");
    tcase_add_test(tests, slips_are_counted);
    tcase_add_test(tests, what_is_too_long_is_no_slip);
    tcase_add_test(tests, the_nearest_is_found);
    tcase_add_test(tests, what_is_far_from_all_has_none);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

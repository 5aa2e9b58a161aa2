/* What every unit test does with its tests: add those that were asked for, and run them. */
#pragma once

#include <check.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* tests/run -k puts a shell pattern for the names of test functions into the environment. libcheck
 * itself selects only whole test cases (CK_RUN_CASE). --without puts the names of functions there
 * that are not to be run; tests/run reports those that it is told of here. */
static inline bool suite_selects(const char *test)
{
    const char *pattern = getenv("IKIGAI_TEST_PATTERN");
    const char *without = getenv("IKIGAI_TEST_WITHOUT");
    if (pattern != NULL && fnmatch(pattern, test, 0) != 0) {
        return false;
    }
    char word[256];
    snprintf(word, sizeof(word), " %s ", test);
    if (without != NULL && strstr(without, word) != NULL) {
        printf("without %s\n", test);
        return false;
    }
    return true;
}

#undef tcase_add_test
#define tcase_add_test(cases, test) tcase_add_loop_test(cases, test, 0, 1)
#undef tcase_add_loop_test
#define tcase_add_loop_test(cases, test, begin, end)                                               \
    do {                                                                                           \
        if (suite_selects(#test))                                                                  \
            tcase_add_loop_test_raise_signal(cases, test, 0, begin, end);                          \
    } while (0)

/* Runs the suite as the environment says (CK_FORK, CK_VERBOSITY …); returns the exit status. */
static inline int suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

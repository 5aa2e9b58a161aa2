/* What main of every unit test does with its suite. */
#pragma once

#include <check.h>

/* Runs it as the environment wants it (CK_FORK, CK_VERBOSITY …); returns the exit status. */
static inline int suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

/* Runs the suite of a unit test program. */
#pragma once

#include <check.h>

/* Obeys the environment (CK_FORK, CK_VERBOSITY …); returns the exit status for main. */
static inline int suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

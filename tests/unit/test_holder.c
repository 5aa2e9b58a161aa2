#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/holder.h"
#include "suite.h"

/* A child that waits to be killed. */
static pid_t start_child(void)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    return pid;
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static ik_holder_t holder_of(pid_t pid)
{
    ik_holder_t holder = ik_holder_self();
    holder.pid = pid;
    holder.started = 0;
    return holder;
}

START_TEST(this_process)
{
    char host[256];
    ik_holder_t self = ik_holder_self();
    ik_holder_t again = ik_holder_self();
    ck_assert_int_eq(gethostname(host, sizeof(host)), 0);
    ck_assert_int_eq(self.pid, getpid());
    ck_assert_int_gt(self.started, 0);
    ck_assert_str_eq(self.host, host);
    ck_assert(ik_holder_equal(&self, &again));
    ck_assert(ik_holder_may_live(&self));
}
END_TEST

/* A program name with everything that could be taken for the end of the field. */
START_TEST(a_program_may_be_called_anything)
{
    ik_holder_t self = ik_holder_self();
    ck_assert_int_eq(prctl(PR_SET_NAME, ") Z 1 (2 3)"), 0);
    ik_holder_t renamed = ik_holder_self();
    ck_assert_int_eq(renamed.started, self.started);
    ck_assert(ik_holder_may_live(&self));
}
END_TEST

START_TEST(a_difference_in_anything_is_one)
{
    ik_holder_t self = ik_holder_self();
    ik_holder_t pid = self;
    ik_holder_t started = self;
    ik_holder_t host = self;
    pid.pid++;
    started.started++;
    host.host[0] ^= 1;
    ck_assert(!ik_holder_equal(&self, &pid));
    ck_assert(!ik_holder_equal(&self, &started));
    ck_assert(!ik_holder_equal(&self, &host));
}
END_TEST

START_TEST(a_process_that_ended)
{
    pid_t child = start_child();
    ik_holder_t holder = holder_of(child);
    ck_assert(ik_holder_may_live(&holder));
    end_child(child);
    ck_assert(!ik_holder_may_live(&holder));
}
END_TEST

START_TEST(a_zombie_writes_nothing_any_more)
{
    pid_t child = start_child();
    ik_holder_t holder = holder_of(child);
    siginfo_t ended;
    kill(child, SIGKILL);
    ck_assert_int_eq(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
    ck_assert_int_eq(kill(child, 0), 0);
    ck_assert(!ik_holder_may_live(&holder));
    waitpid(child, NULL, 0);
}
END_TEST

START_TEST(a_number_that_was_given_again)
{
    ik_holder_t self = ik_holder_self();
    self.started++;
    ck_assert(!ik_holder_may_live(&self));
    self.started = 0; /* unknown: it may be the same process */
    ck_assert(ik_holder_may_live(&self));
}
END_TEST

START_TEST(numbers_that_no_process_has)
{
    ik_holder_t holder = holder_of(0);
    ck_assert(!ik_holder_may_live(&holder));
    holder.pid = -1; /* kill(-1) would signal every process */
    ck_assert(!ik_holder_may_live(&holder));
    holder.pid = (INT64_C(1) << 32) + getpid();
    ck_assert(!ik_holder_may_live(&holder));
}
END_TEST

START_TEST(other_machines_are_not_ours_to_judge)
{
    ik_holder_t self = ik_holder_self();
    pid_t child = start_child();
    end_child(child);
    self.pid = child;
    snprintf(self.host, sizeof(self.host), "%.20s-other", ik_holder_self().host);
    ck_assert(ik_holder_may_live(&self));
}
END_TEST

/* A process that exists, but that this user may not signal. */
START_TEST(a_process_of_somebody_else)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        ik_holder_t init = holder_of(1);
        bool denied = setresuid(65534, 65534, 65534) != 0 || kill(1, 0) != 0;
        _exit(denied && ik_holder_may_live(&init) ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("holder");
    TCase *tests = tcase_create("holder");
    tcase_add_test(tests, this_process);
    tcase_add_test(tests, a_program_may_be_called_anything);
    tcase_add_test(tests, a_difference_in_anything_is_one);
    tcase_add_test(tests, a_process_that_ended);
    tcase_add_test(tests, a_zombie_writes_nothing_any_more);
    tcase_add_test(tests, a_number_that_was_given_again);
    tcase_add_test(tests, numbers_that_no_process_has);
    tcase_add_test(tests, other_machines_are_not_ours_to_judge);
    tcase_add_test(tests, a_process_of_somebody_else);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

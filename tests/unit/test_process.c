/* Cases that the command line does not reach: cancelling, freeing early, several processes at once,
 * freeing the host while processes run. Uses a real keeper and real programs. */
#include <check.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "io/process.h"
#include "suite.h"
#include "tool/tool_runner.h"

enum { LONG_MS = 60000, TURNS_MAX = 1000 };

typedef struct {
    bool done;
    int ends;
    ik_process_end_t end;
    int exit_code;
    char *out;
    char *line;           /* the last progress line */
    ik_process_t *victim; /* cancelled when a progress line arrives */
    bool *stop;           /* set when a progress line arrives */
} outcome_t;

static void *ctx;
static ik_loop_t *loop;
static const char *keeper;
static ik_process_host_t *host;

static void set_up(void)
{
    const char *out = getenv("IKIGAI_OUT");
    ctx = talloc_new(NULL);
    res_t created = ik_loop_create(ctx, &loop);
    ck_assert(is_ok(&created));
    keeper = ik_sprintf(ctx, "%s/lib/ikigai/keeper", out == NULL ? "." : out);
    host = ik_process_host_create(ctx, loop, keeper);
}

static void tear_down(void)
{
    talloc_free(host);
    talloc_free(ctx);
}

static void on_end(void *data, ik_process_result_t *result)
{
    outcome_t *outcome = data;
    outcome->done = true;
    outcome->ends++;
    outcome->end = result->end;
    outcome->exit_code = result->exit_code;
    outcome->out = ik_strndup(ctx, result->out.len == 0 ? "" : result->out.data, result->out.len);
}

static bool on_progress(void *data, const char *line, size_t len)
{
    outcome_t *outcome = data;
    outcome->line = ik_strndup(ctx, line, len);
    if (outcome->victim != NULL) {
        ik_process_cancel(outcome->victim);
    }
    if (outcome->stop != NULL) {
        *outcome->stop = true;
    }
    return true;
}

static ik_process_t *start(const char *script, outcome_t *outcome)
{
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    ik_process_options_t options = {.argv = argv,
                                    .folder = "/",
                                    .max_out = 1000,
                                    .max_err = 1000,
                                    .idle_ms = LONG_MS,
                                    .max_ms = LONG_MS,
                                    .on_progress = on_progress,
                                    .on_end = on_end,
                                    .data = outcome};
    ik_process_t *process;
    res_t started = ik_process_start(ctx, host, &options, &process);
    ck_assert_msg(is_ok(&started), "%s", started.message);
    ck_assert_msg(!outcome->done, "on_end came from inside start");
    return process;
}

static void wait_for(outcome_t *outcome)
{
    ck_assert(ik_loop_run_until(loop, &outcome->done));
    ck_assert_int_eq(outcome->ends, 1);
}

/* Waits until the script has written its first progress line. */
static void wait_for_line(outcome_t *outcome)
{
    bool said = false;
    outcome->stop = &said;
    ck_assert(ik_loop_run_until(loop, &said));
    outcome->stop = NULL;
}

/* Starts a long-lived background process, reports its pid and waits for it. */
#define LINGER "sleep 100 & echo $! >&3; wait"

static bool is_alive(const outcome_t *outcome)
{
    pid_t pid = (pid_t)atol(outcome->line);
    ck_assert_int_gt(pid, 1);
    return kill(pid, 0) == 0;
}

START_TEST(output_and_exit_code)
{
    outcome_t outcome = {0};
    start("echo hello; exit 3", &outcome);
    wait_for(&outcome);
    ck_assert_int_eq(outcome.end, IK_PROCESS_EXITED);
    ck_assert_int_eq(outcome.exit_code, 3);
    ck_assert_str_eq(outcome.out, "hello\n");
}
END_TEST

START_TEST(cancelling_ends_the_tree)
{
    outcome_t outcome = {0};
    outcome.victim = start("echo before; " LINGER, &outcome);
    wait_for(&outcome);
    ck_assert_int_eq(outcome.end, IK_PROCESS_CANCELLED);
    ck_assert_int_eq(outcome.exit_code, 128 + SIGTERM);
    ck_assert_str_eq(outcome.out, "before\n");
    ck_assert(!is_alive(&outcome));
}
END_TEST

START_TEST(freeing_early_is_silent_and_ends_it)
{
    outcome_t freed = {0};
    outcome_t other = {0};
    ik_process_t *process = start(LINGER, &freed);
    wait_for_line(&freed);
    ck_assert(is_alive(&freed));
    talloc_free(process);
    start("echo later", &other);
    wait_for(&other);
    for (int i = 0; i < TURNS_MAX && is_alive(&freed); i++) {
        outcome_t turn = {0};
        start("sleep 0.05", &turn);
        wait_for(&turn);
    }
    ck_assert_int_eq(freed.ends, 0);
    ck_assert(!is_alive(&freed));
    ck_assert_str_eq(other.out, "later\n");
}
END_TEST

START_TEST(the_end_of_one_leaves_the_others_alone)
{
    outcome_t lasting = {0};
    outcome_t brief[5] = {0};
    ik_process_t *process = start(LINGER, &lasting);
    wait_for_line(&lasting);
    for (int i = 0; i < 5; i++) {
        start("(setsid sleep 100 > /dev/null 2>&1 &); exit 4", &brief[i]);
    }
    for (int i = 0; i < 5; i++) {
        wait_for(&brief[i]);
        ck_assert_int_eq(brief[i].exit_code, 4);
    }
    ck_assert(is_alive(&lasting));
    ck_assert(!lasting.done);
    ik_process_cancel(process);
    wait_for(&lasting);
}
END_TEST

START_TEST(a_host_that_goes_takes_all_with_it)
{
    outcome_t outcome = {0};
    start(LINGER, &outcome);
    wait_for_line(&outcome);
    talloc_free(host);
    host = NULL;
    ck_assert(!is_alive(&outcome));
    ck_assert_int_eq(outcome.ends, 0);
}
END_TEST

static int count_descriptors(void)
{
    DIR *entries = opendir("/proc/self/fd");
    int count = -1; /* that of the folder */
    ck_assert_ptr_nonnull(entries);
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    closedir(entries);
    return count;
}

/* Starts with ever more descriptors until they are enough. */
static void start_with_few(ik_process_options_t *options, outcome_t *outcome)
{
    ik_process_t *process;
    struct rlimit usual;
    int failures = 0;
    int before = count_descriptors();
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
    options->data = outcome;
    for (rlim_t limit = 3;; limit++) {
        struct rlimit few = {.rlim_cur = limit, .rlim_max = usual.rlim_max};
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
        res_t started = ik_process_start(ctx, host, options, &process);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
        if (is_ok(&started)) {
            break;
        }
        failures++;
        ck_assert_int_eq(count_descriptors(), before);
    }
    ck_assert_int_gt(failures, 1);
    ik_process_close_input(process);
    wait_for(outcome);
}

START_TEST(a_start_that_fails_closes_its_own_descriptors_alone)
{
    const char *argv[] = {"/bin/cat", NULL};
    ik_process_options_t options = {.argv = argv,
                                    .folder = "/",
                                    .max_out = 1000,
                                    .max_err = 1000,
                                    .idle_ms = LONG_MS,
                                    .max_ms = LONG_MS,
                                    .on_end = on_end};
    for (int i = 0; i < 3; i++) {
        outcome_t first = {0};
        outcome_t outcome = {0};
        start("true", &first); /* the keeper runs */
        wait_for(&first);
        options.input = i == 1 ? "text" : NULL;
        options.input_len = i == 1 ? 4 : 0;
        options.keeps_input = i == 2;
        start_with_few(&options, &outcome);
        ck_assert_int_eq(outcome.exit_code, 0);
        ck_assert_str_eq(outcome.out, i == 1 ? "text" : "");
    }
}
END_TEST

/* Fails in ik_process_start where posix_spawn reports the error; under valgrind it does not. */
START_TEST(no_keeper_is_an_error)
{
    ik_process_host_t *lame = ik_process_host_create(ctx, loop, "/nonexistent/keeper");
    const char *argv[] = {"/bin/true", NULL};
    outcome_t outcome = {0};
    ik_process_options_t options = {.argv = argv,
                                    .folder = "/",
                                    .idle_ms = LONG_MS,
                                    .max_ms = LONG_MS,
                                    .on_end = on_end,
                                    .data = &outcome};
    ik_process_t *process;
    res_t started = ik_process_start(ctx, lame, &options, &process);
    if (is_err(&started)) {
        ck_assert_ptr_nonnull(strstr(started.message, "/nonexistent/keeper"));
    } else {
        wait_for(&outcome);
        ck_assert_int_eq(outcome.end, IK_PROCESS_LOST);
    }
}
END_TEST

/* --- a tool call, cancelled -------------------------------------------------------------- */

typedef struct {
    bool done;
    char *envelope;
    ik_tool_call_t *call;
} call_outcome_t;

static void on_call_progress(void *data, const char *text, size_t len)
{
    (void)text;
    (void)len;
    ik_tool_call_cancel(((call_outcome_t *)data)->call);
}

static void on_call_end(void *data, const ik_tool_result_t *result)
{
    call_outcome_t *outcome = data;
    outcome->done = true;
    outcome->envelope = ik_strdup(ctx, result->envelope);
    ck_assert(!result->success);
}

START_TEST(a_cancelled_call_is_interrupted)
{
    static const char text[] = "{\"name\":\"linger\"}";
    static const char script[] = "#!/bin/sh\necho '{\"text\":\"up\"}' >&3\nsleep 100\n";
    char path[] = "/tmp/ikigai-test-XXXXXX";
    int fd = mkstemp(path);
    ck_assert(fd >= 0 && write(fd, script, sizeof(script) - 1) == sizeof(script) - 1);
    ck_assert(fchmod(fd, 0700) == 0 && close(fd) == 0);
    ik_tool_schema_t *schema;
    res_t parsed = ik_tool_schema_parse(ctx, text, sizeof(text) - 1, &schema);
    ck_assert(is_ok(&parsed));
    ik_tool_registry_t *registry = ik_tool_registry_create(ctx);
    ik_tool_registry_add(registry, path, path, IK_TOOL_USER, false, schema);
    ik_config_t config = {
        .max_output_size = 1000, .tool_timeout_seconds = 60, .tool_max_seconds = 60};
    ik_tool_context_t context = {.host = host, .config = &config, .folder = "/"};
    call_outcome_t outcome = {0};
    ik_tool_request_t request = {.name = "linger",
                                 .arguments = "{}",
                                 .arguments_len = 2,
                                 .call_id = "1",
                                 .session_id = "1",
                                 .on_progress = on_call_progress,
                                 .on_end = on_call_end,
                                 .data = &outcome};
    outcome.call = ik_tool_call_start(ctx, &context, registry, &request);
    ck_assert(ik_loop_run_until(loop, &outcome.done));
    unlink(path);
    ck_assert_str_eq(outcome.envelope,
                     "{\"tool_success\":false,\"error\":\"Tool 'linger' was interrupted\","
                     "\"error_code\":\"INTERRUPTED\",\"exit_code\":143,\"stdout\":\"\","
                     "\"stderr\":\"\"}");
}
END_TEST

/* On a busy machine the kernel counts a second long before a process has used one. */
START_TEST(the_limit_of_processor_time_is_recognised)
{
    static const struct {
        int signal;
        int64_t cpu_us;
        int64_t seconds;
        bool expected;
    } cases[] = {
        {SIGXCPU, 1000000, 1, true},  {SIGXCPU, 150000, 1, true},  {SIGXCPU, 1000000, 0, false},
        {SIGXCPU, 50000, 1, false},   {SIGKILL, 1000000, 2, true}, {SIGKILL, 400000, 1, false},
        {SIGTERM, 1000000, 1, false}, {0, 1000000, 1, false},
    };
    for (size_t i = 0; i < IK_LENGTH(cases); i++) {
        ck_assert_msg(ik_process_is_cpu_limit(cases[i].signal, cases[i].cpu_us, cases[i].seconds) ==
                          cases[i].expected,
                      "case %zu", i);
    }
}
END_TEST

static void on_room(void *data, int error, ik_room_part_t part, const int *mounts, size_t count)
{
    (void)error;
    (void)mounts;
    *(bool *)data = true;
    ck_assert_int_ne(part, IK_ROOM_PART_NONE);
    ck_assert_uint_eq(0, count);
}

/* Also a keeper whose /proc is not that of its namespace, where its own number is another's. */
START_TEST(the_keeper_of_a_room_that_fails_ends_at_once)
{
    static const char *const steps[] = {"w/nonexistent"};
    bool reported = false;
    ik_process_room_t room = {.flags = IK_ROOM_NAMESPACES,
                              .steps = steps,
                              .step_count = 1,
                              .on_made = on_room,
                              .data = &reported};
    ik_process_host_t *rooms = ik_process_host_create_room(ctx, loop, keeper, &room);
    res_t opened = ik_process_host_open(rooms);
    ck_assert_msg(is_ok(&opened), "%s", opened.message);
    ck_assert(ik_loop_run_until(loop, &reported));
    struct rusage used;
    int64_t seconds = 0;
    while (wait4(-1, NULL, 0, &used) > 0) {
        seconds += used.ru_utime.tv_sec + used.ru_stime.tv_sec;
    }
    ck_assert_int_eq(0, seconds);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("process");
    TCase *tests = tcase_create("process");
    tcase_set_timeout(tests, 240);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, output_and_exit_code);
    tcase_add_test(tests, cancelling_ends_the_tree);
    tcase_add_test(tests, freeing_early_is_silent_and_ends_it);
    tcase_add_test(tests, the_end_of_one_leaves_the_others_alone);
    tcase_add_test(tests, a_host_that_goes_takes_all_with_it);
    tcase_add_test(tests, a_start_that_fails_closes_its_own_descriptors_alone);
    tcase_add_test(tests, no_keeper_is_an_error);
    tcase_add_test(tests, a_cancelled_call_is_interrupted);
    tcase_add_test(tests, the_limit_of_processor_time_is_recognised);
    tcase_add_test(tests, the_keeper_of_a_room_that_fails_ends_at_once);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

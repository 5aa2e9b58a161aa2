/*
 * Many tool calls in one process, as an agent makes them, and what they cost it:
 *
 *   call_driver IKIGAI ROUNDS TOOL ARGUMENTS [TOOL ARGUMENTS]...
 *
 * finds the tools as the program IKIGAI would, makes all calls ROUNDS times and prints one JSON
 * object: for every call its times in ms and its last error code, and what this process and the
 * keeper held after the first tenth of the rounds and at the end.
 */
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "tool/tool_discovery.h"
#include "tool/tool_runner.h"

typedef struct {
    const char *name;
    const char *arguments;
    double longest_ms;
    size_t successes;
    char *code; /* of the last failure */
    size_t envelope_len;
} call_t;

typedef struct {
    void *ctx;
    ik_paths_t *paths;
    ik_config_t *config;
    ik_loop_t *loop;
    ik_process_host_t *host;
    const ik_tool_registry_t *registry;
    call_t *calls;
    size_t count;
    long left_behind; /* most processes below the keeper that were seen right after a call */
} driver_t;

static void fail(const char *what)
{
    fprintf(stderr, "call_driver: %s\n", what);
    exit(1);
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* --- what a process holds ----------------------------------------------------------------- */

static char *read_file(const void *ctx, const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return ik_strdup(ctx, "");
    }
    char *text = ik_new_array(ctx, char, 16384);
    size_t len = fread(text, 1, 16383, file);
    text[len] = '\0';
    fclose(file);
    return text;
}

static long status_of(pid_t pid, const char *field)
{
    char *path = ik_sprintf(NULL, "/proc/%d/status", (int)pid);
    char *text = read_file(path, path);
    char *line = strstr(text, field);
    long value = line == NULL ? -1 : atol(line + strlen(field));
    talloc_free(path);
    return value;
}

static long count_fds(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    long count = -3; /* the two dots and, here, this one */
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return pid == getpid() ? count : count + 1;
}

/* Children of pid, zombies among them; *first is one of them. */
static long count_children(pid_t pid, pid_t *first)
{
    char *path = ik_sprintf(NULL, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    char *text = read_file(path, path);
    char *end;
    long count = 0;
    *first = 0;
    for (long child = strtol(text, &end, 10); end != text; child = strtol(text, &end, 10)) {
        *first = (pid_t)child;
        text = end;
        count++;
    }
    talloc_free(path);
    return count;
}

/* What libuv still has to close is closed before anything is counted. */
static void on_settled(void *data)
{
    *(bool *)data = true;
}

static void settle(driver_t *driver)
{
    bool done = false;
    ik_timer_t *timer = ik_timer_create(NULL, driver->loop, on_settled, &done);
    ik_timer_start(timer, 2);
    ik_loop_run_until(driver->loop, &done);
    talloc_free(timer);
}

static json_t *sample(driver_t *driver)
{
    settle(driver);
    pid_t keeper;
    pid_t other;
    long children = count_children(getpid(), &keeper);
    struct mallinfo2 heap = mallinfo2();
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "fds", (json_int_t)count_fds(getpid()),
        "children", (json_int_t)children, "rss_kb", (json_int_t)status_of(getpid(), "VmRSS:"),
        "heap", (json_int_t)heap.uordblks + (json_int_t)heap.hblkhd, "blocks",
        (json_int_t)talloc_total_blocks(NULL), "keeper_fds", (json_int_t)count_fds(keeper),
        "keeper_rss_kb", (json_int_t)status_of(keeper, "VmRSS:"), "keeper_peak_kb",
        (json_int_t)status_of(keeper, "VmHWM:"), "keeper_children",
        (json_int_t)count_children(keeper, &other));
}

/* --- calls -------------------------------------------------------------------------------- */

static void take_code(const void *ctx, call_t *call, const char *envelope)
{
    ik_json_span_t whole;
    ik_json_span_t code;
    if (!ik_json_scan(envelope, strlen(envelope), &whole, NULL)) {
        fail("an envelope is not JSON");
    }
    call->envelope_len = strlen(envelope);
    if (ik_json_find(whole, "error_code", &code)) {
        size_t len;
        talloc_free(call->code);
        call->code = ik_json_decode(ctx, code, &len);
    }
}

static void make_call(driver_t *driver, call_t *call)
{
    ik_tool_context_t context = {
        .host = driver->host, .config = driver->config, .folder = driver->paths->cwd};
    ik_tool_request_t request = {.name = call->name,
                                 .arguments = call->arguments,
                                 .arguments_len = strlen(call->arguments),
                                 .call_id = "driver",
                                 .session_id = "driver"};
    double begin = now_ms();
    ik_tool_result_t *result = ik_tool_call_run(driver->ctx, &context, driver->registry, &request);
    double took = now_ms() - begin;
    call->longest_ms = took > call->longest_ms ? took : call->longest_ms;
    call->successes += result->success;
    take_code(driver->ctx, call, result->envelope);
    talloc_free(result);
    pid_t keeper;
    pid_t other;
    count_children(getpid(), &keeper);
    long left = keeper == 0 ? 0 : count_children(keeper, &other);
    driver->left_behind = left > driver->left_behind ? left : driver->left_behind;
}

static void set_up(driver_t *driver, const char *executable)
{
    char *cwd = getcwd(NULL, 0);
    ik_paths_origin_t origin = {.executable = executable,
                                .default_prefix = "/nonexistent",
                                .ikigai_home = getenv("IKIGAI_HOME"),
                                .cwd = cwd};
    const ik_tool_discovery_result_t *found;
    res_t ready = ik_paths_create_from(driver->ctx, &origin, &driver->paths);
    free(cwd);
    if (is_ok(&ready)) {
        ready = ik_config_load(driver->ctx, driver->paths, NULL, &driver->config);
    }
    if (is_ok(&ready)) {
        ready = ik_loop_create(driver->ctx, &driver->loop);
    }
    if (is_err(&ready)) {
        fail(ready.message);
    }
    driver->host = ik_process_host_create(driver->ctx, driver->loop, driver->paths->keeper);
    ik_tool_discovery_options_t options = {
        .paths = driver->paths, .config = driver->config, .host = driver->host};
    ready = ik_tool_discovery_run(driver->ctx, &options, &found);
    if (is_err(&ready)) {
        fail(ready.message);
    }
    for (size_t i = 0; i < found->problem_count; i++) {
        fprintf(stderr, "%s\n", found->problems[i]);
    }
    driver->registry = found->registry;
}

static json_t *report(const driver_t *driver, json_t *early, json_t *late)
{
    json_t *calls = json_array();
    for (size_t i = 0; i < driver->count; i++) {
        const call_t *call = &driver->calls[i];
        json_array_append_new(calls, json_pack("{s:s, s:f, s:I, s:s?, s:I}", "name", call->name,
                                               "longest_ms", call->longest_ms, "successes",
                                               (json_int_t)call->successes, "code", call->code,
                                               "envelope_len", (json_int_t)call->envelope_len));
    }
    return json_pack("{s:o, s:o, s:o, s:I, s:I}", "calls", calls, "early", early, "late", late,
                     "peak_kb", (json_int_t)status_of(getpid(), "VmHWM:"), "left_behind",
                     (json_int_t)driver->left_behind);
}

int main(int argc, char **argv)
{
    if (argc < 5 || argc % 2 == 0) {
        fail("usage: call_driver IKIGAI ROUNDS TOOL ARGUMENTS [TOOL ARGUMENTS]...");
    }
    talloc_enable_null_tracking();
    driver_t driver = {.ctx = talloc_new(NULL), .count = (size_t)(argc - 3) / 2};
    set_up(&driver, argv[1]);
    driver.calls = ik_new_array(driver.ctx, call_t, driver.count);
    long rounds = atol(argv[2]);
    json_t *early = NULL;
    for (long round = 0; round < rounds; round++) {
        for (size_t i = 0; i < driver.count; i++) {
            driver.calls[i].name = argv[3 + 2 * i];
            driver.calls[i].arguments = argv[4 + 2 * i];
            make_call(&driver, &driver.calls[i]);
        }
        if (round == rounds / 10) {
            early = sample(&driver);
        }
    }
    json_t *answer = report(&driver, early, sample(&driver));
    json_dumpf(answer, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(answer);
    talloc_free(driver.ctx);
    talloc_disable_null_tracking();
    return 0;
}

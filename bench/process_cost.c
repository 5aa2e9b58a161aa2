/*
 * Measures a command beside a program that does nothing: NOOP and the command are started
 * alternately, through io/process and the keeper, with INPUT on stdin. Prints the medians in
 * microseconds and the command's peak memory in KB: {"noop":…,"command":…,"rss_kb":…}.
 *
 *   process_cost KEEPER NOOP ROUNDS INPUT COMMAND [ARGUMENT]...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/json.h"
#include "io/process.h"

typedef struct {
    ik_loop_t *loop;
    ik_process_host_t *host;
    bool done;
    bool parsed;
    int64_t rss_kb; /* the largest so far */
} bench_t;

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static bool on_progress(void *data, const char *line, size_t len)
{
    (void)data;
    (void)line;
    (void)len;
    return true;
}

static void on_end(void *data, ik_process_result_t *result)
{
    bench_t *bench = data;
    ik_json_span_t value;
    bench->done = true;
    bench->rss_kb = result->max_rss_kb > bench->rss_kb ? result->max_rss_kb : bench->rss_kb;
    bench->parsed =
        result->out.len == 0 || ik_json_scan(result->out.data, result->out.len, &value, NULL);
    if (result->end != IK_PROCESS_EXITED || result->exit_code != 0) {
        fprintf(stderr, "process_cost: a program failed: %s\n", result->error.message);
        exit(1);
    }
}

static double time_one(bench_t *bench, const char *const *argv, const char *input)
{
    ik_process_options_t options = {.argv = argv,
                                    .folder = "/",
                                    .input = input,
                                    .input_len = strlen(input),
                                    .max_out = 1 << 20,
                                    .max_err = 65536,
                                    .idle_ms = 10000,
                                    .max_ms = 10000,
                                    .on_progress = on_progress,
                                    .on_end = on_end,
                                    .data = bench};
    ik_process_t *process;
    double start = now_us();
    bench->done = false;
    res_t started = ik_process_start(NULL, bench->host, &options, &process);
    if (is_err(&started)) {
        fprintf(stderr, "process_cost: %s\n", started.message);
        exit(1);
    }
    ik_loop_run_until(bench->loop, &bench->done);
    if (!bench->parsed) {
        fprintf(stderr, "process_cost: %s did not print JSON\n", argv[0]);
        exit(1);
    }
    return now_us() - start;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return values[count / 2];
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr, "usage: process_cost KEEPER NOOP ROUNDS INPUT COMMAND [ARGUMENT]...\n");
        return 2;
    }
    void *ctx = talloc_new(NULL);
    bench_t bench = {0};
    res_t created = ik_loop_create(ctx, &bench.loop);
    if (is_err(&created)) {
        return 1;
    }
    bench.host = ik_process_host_create(ctx, bench.loop, argv[1]);
    size_t rounds = (size_t)atol(argv[3]);
    double *noop_times = ik_new_array(ctx, double, rounds);
    double *command_times = ik_new_array(ctx, double, rounds);
    const char *noop[] = {argv[2], NULL};
    for (size_t i = 0; i < rounds; i++) {
        noop_times[i] = time_one(&bench, noop, argv[4]);
        command_times[i] = time_one(&bench, (const char *const *)argv + 5, argv[4]);
    }
    printf("{\"noop\":%.1f,\"command\":%.1f,\"rss_kb\":%lld}\n", median(noop_times, rounds),
           median(command_times, rounds), (long long)bench.rss_kb);
    talloc_free(bench.host);
    talloc_free(ctx);
    return 0;
}

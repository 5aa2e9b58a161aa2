/*
 * What a tool call costs over starting a program at all: NOOP and TOOL are started the same way
 * (through io/process and the keeper), in turns, and the medians printed in microseconds as
 * {"noop":…,"schema":…,"call":…,"rss_kb":…}.
 *
 *   process_cost KEEPER NOOP TOOL ROUNDS ARGUMENTS
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

static void on_end(void *data, const ik_process_result_t *result)
{
    bench_t *bench = data;
    ik_json_span_t value;
    bench->done = true;
    bench->parsed = result->out.len == 0 ||
                    ik_json_scan(result->out.data, result->out.len, &value, NULL);
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
    if (argc != 6) {
        fprintf(stderr, "usage: process_cost KEEPER NOOP TOOL ROUNDS ARGUMENTS\n");
        return 2;
    }
    void *ctx = talloc_new(NULL);
    bench_t bench = {0};
    res_t created = ik_loop_create(ctx, &bench.loop);
    if (is_err(&created)) {
        return 1;
    }
    bench.host = ik_process_host_create(ctx, bench.loop, argv[1]);
    size_t rounds = (size_t)atol(argv[4]);
    double *times[3];
    for (size_t i = 0; i < 3; i++) {
        times[i] = ik_new_array(ctx, double, rounds);
    }
    const char *noop[] = {argv[2], NULL};
    const char *schema[] = {argv[3], "--schema", NULL};
    const char *call[] = {argv[3], NULL};
    for (size_t i = 0; i < rounds; i++) {
        times[0][i] = time_one(&bench, noop, argv[5]);
        times[1][i] = time_one(&bench, schema, argv[5]);
        times[2][i] = time_one(&bench, call, argv[5]);
    }
    printf("{\"noop\":%.1f,\"schema\":%.1f,\"call\":%.1f}\n", median(times[0], rounds),
           median(times[1], rounds), median(times[2], rounds));
    talloc_free(bench.host);
    talloc_free(ctx);
    return 0;
}

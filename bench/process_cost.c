/*
 * Measures a command beside a program that does nothing: NOOP and the command are started
 * alternately, through io/process and the keeper, with INPUT on stdin. Prints the medians in
 * microseconds and the command's peak memory in KB: {"noop":…,"command":…,"rss_kb":…}.
 *
 *   process_cost KEEPER NOOP ROUNDS INPUT COMMAND [ARGUMENT]...
 *   process_cost --room FOLDER KEEPER NOOP ROUNDS INPUT COMMAND [ARGUMENT]...
 *
 * With --room only NOOP runs unconfined; the command runs in a room that may write to
 * FOLDER/project and has FOLDER/home as the user's home. Prints in addition {"level":…}, the
 * medians of finding it out ("detect"), of the first room ("first_room"), which makes the copies of
 * /tmp and the caches, and of another one ("room"), and the resident memory of a room's keeper
 * ("room_kb").
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "confinement/confinement.h"
#include "io/process.h"

enum { ROOM_ROUNDS = 25 };

typedef struct {
    ik_loop_t *loop;
    ik_process_host_t *host; /* unconfined */
    ik_process_host_t *room; /* where the command runs; without --room the same */
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

static double time_one(bench_t *bench, ik_process_host_t *host, const char *const *argv,
                       const char *input)
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
    res_t started = ik_process_start(NULL, host, &options, &process);
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

/* --- rooms ------------------------------------------------------------------------------- */

static void on_known(void *data, const ik_confinement_facts_t *facts)
{
    (void)facts;
    ((bench_t *)data)->done = true;
}

static void on_ready(void *data, ik_process_host_t *host)
{
    bench_t *bench = data;
    bench->done = true;
    bench->room = host;
}

static double time_detection(bench_t *bench, ik_confinement_t *confinement)
{
    double start = now_us();
    bench->done = false;
    ik_confinement_detect(NULL, confinement, on_known, bench);
    ik_loop_run_until(bench->loop, &bench->done);
    return now_us() - start;
}

static double time_room(bench_t *bench, ik_confinement_t *confinement, ik_write_t write)
{
    double start = now_us();
    bench->done = false;
    ik_confinement_prepare(NULL, confinement, (ik_effects_t){.write = write}, on_ready, bench);
    ik_loop_run_until(bench->loop, &bench->done);
    if (bench->room == NULL) {
        fprintf(stderr, "process_cost: %s\n", ik_confinement_facts(confinement)->cause);
        exit(1);
    }
    return now_us() - start;
}

/* The resident memory of our children, which are keepers. */
static int64_t children_kb(void)
{
    char path[64];
    int64_t sum = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    FILE *children = fopen(path, "re");
    int pid;
    while (children != NULL && fscanf(children, "%d", &pid) == 1) {
        char line[256];
        long long kb;
        snprintf(path, sizeof(path), "/proc/%d/status", pid);
        FILE *status = fopen(path, "re");
        while (status != NULL && fgets(line, sizeof(line), status) != NULL) {
            sum += sscanf(line, "VmRSS: %lld kB", &kb) == 1 ? kb : 0;
        }
        if (status != NULL) {
            fclose(status);
        }
    }
    if (children != NULL) {
        fclose(children);
    }
    return sum;
}

/* Makes rooms again and again, each time in a new confinement, and leaves the last one. */
static void measure_rooms(const void *ctx, bench_t *bench, const char *folder, const char *keeper)
{
    const char *home = ik_sprintf(ctx, "%s/home", folder);
    ik_paths_t paths = {.keeper = ik_strdup(ctx, keeper),
                        .home = ik_sprintf(ctx, "%s/.ikigai", home),
                        .user_tools = ik_sprintf(ctx, "%s/.ikigai/tools", home),
                        .trusted = ik_sprintf(ctx, "%s/.ikigai/trusted", home),
                        .rooms = ik_sprintf(ctx, "%s/.ikigai/rooms", home),
                        .cwd = ik_sprintf(ctx, "%s/project", folder)};
    setenv("HOME", home, 1);
    ik_confinement_options_t options = {.loop = bench->loop,
                                        .paths = talloc_memdup(ctx, &paths, sizeof(paths)),
                                        .config = ik_new(ctx, ik_config_t)};
    double detect[ROOM_ROUNDS];
    double first[ROOM_ROUNDS];
    double further[ROOM_ROUNDS];
    int64_t room_kb = 0;
    ik_confinement_t *confinement = NULL;
    for (size_t i = 0; i < ROOM_ROUNDS; i++) {
        talloc_free(confinement);
        confinement = ik_confinement_create(ctx, &options);
        detect[i] = time_detection(bench, confinement);
        first[i] = time_room(bench, confinement, IK_WRITE_NONE);
        int64_t before = children_kb();
        further[i] = time_room(bench, confinement, IK_WRITE_PROJECT);
        int64_t kb = children_kb() - before;
        room_kb = kb > room_kb ? kb : room_kb;
    }
    printf("{\"level\":\"%s\",\"detect\":%.1f,\"first_room\":%.1f,\"room\":%.1f,\"room_kb\":%lld,",
           ik_confinement_level_name(ik_confinement_facts(confinement)->level),
           median(detect, ROOM_ROUNDS), median(first, ROOM_ROUNDS), median(further, ROOM_ROUNDS),
           (long long)room_kb);
}

int main(int argc, char **argv)
{
    const char *folder = argc > 2 && strcmp(argv[1], "--room") == 0 ? argv[2] : NULL;
    argv += folder == NULL ? 0 : 2;
    if (argc - (folder == NULL ? 0 : 2) < 6) {
        fprintf(stderr, "usage: process_cost [--room FOLDER] KEEPER NOOP ROUNDS INPUT COMMAND "
                        "[ARGUMENT]...\n");
        return 2;
    }
    void *ctx = talloc_new(NULL);
    bench_t bench = {0};
    res_t created = ik_loop_create(ctx, &bench.loop);
    if (is_err(&created)) {
        return 1;
    }
    bench.host = ik_process_host_create(ctx, bench.loop, argv[1]);
    bench.room = bench.host;
    if (folder == NULL) {
        printf("{");
    } else {
        measure_rooms(bench.host, &bench, folder, argv[1]);
    }
    size_t rounds = (size_t)atol(argv[3]);
    double *noop_times = ik_new_array(ctx, double, rounds);
    double *command_times = ik_new_array(ctx, double, rounds);
    const char *noop[] = {argv[2], NULL};
    for (size_t i = 0; i < rounds; i++) {
        noop_times[i] = time_one(&bench, bench.host, noop, argv[4]);
        command_times[i] = time_one(&bench, bench.room, (const char *const *)argv + 5, argv[4]);
    }
    printf("\"noop\":%.1f,\"command\":%.1f,\"rss_kb\":%lld}\n", median(noop_times, rounds),
           median(command_times, rounds), (long long)bench.rss_kb);
    talloc_free(bench.host);
    talloc_free(ctx);
    return 0;
}

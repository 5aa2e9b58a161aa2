/*
 * Measures a call of a tool of an MCP server that runs, beside the time that the server itself
 * takes to answer the same message over a pipe. Prints both medians in microseconds.
 *
 *   server_cost ECHO COUNT IKIGAI      the configuration (IKIGAI_HOME) has ECHO as the server
 * "echo"
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/config.h"
#include "io/http.h"
#include "mcp/mcp.h"
#include "tool/tool_runner.h"

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double first = *(const double *)a;
    double second = *(const double *)b;
    return (first > second) - (first < second);
}

static double median(double *times, int count)
{
    qsort(times, (size_t)count, sizeof(*times), compare);
    return times[count / 2];
}

/* The server's own time: a message to it and its answer. */
static double measure_server(const char *echo, int count, double *times)
{
    static const char call[] =
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{"
        "\"name\":\"echo\",\"arguments\":{}}}\n";
    int in[2];
    int out[2];
    char answer[4096];
    if (pipe(in) < 0 || pipe(out) < 0) {
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        close(out[0]);
        execl(echo, echo, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    for (int i = 0; i < count; i++) {
        double begin = now_us();
        if (write(in[1], call, sizeof(call) - 1) < 0 || read(out[0], answer, sizeof(answer)) <= 0) {
            return -1;
        }
        times[i] = now_us() - begin;
    }
    close(in[1]);
    close(out[0]);
    return median(times, count);
}

int main(int argc, char **argv)
{
    void *ctx = talloc_new(NULL);
    int count = argc > 2 ? atoi(argv[2]) : 0;
    ik_paths_t *paths;
    ik_config_t *config;
    ik_loop_t *loop;
    const ik_tool_discovery_result_t *found;
    signal(SIGPIPE, SIG_IGN);
    if (count < 1 || argc < 4) {
        return 2;
    }
    double *times = ik_new_array(ctx, double, (size_t)count);
    double own = measure_server(argv[1], count, times);
    res_t ready = ik_paths_create_from(ctx,
                                       &(ik_paths_origin_t){.executable = argv[3],
                                                            .default_prefix = "/",
                                                            .ikigai_home = getenv("IKIGAI_HOME"),
                                                            .user_home = getenv("HOME"),
                                                            .cwd = getenv("IKIGAI_HOME")},
                                       &paths);
    ready = is_ok(&ready) ? ik_config_load(ctx, paths, NULL, &config) : ready;
    ready = is_ok(&ready) ? ik_loop_create(ctx, &loop) : ready;
    if (is_err(&ready)) {
        fprintf(stderr, "%s\n", ready.message);
        return 1;
    }
    ik_process_host_t *host = ik_process_host_create(ctx, loop, paths->keeper);
    ik_mcp_t *mcp = ik_mcp_create(
        ctx,
        &(ik_mcp_options_t){
            .paths = paths, .config = config, .host = host, .http = ik_http_create(ctx, loop)},
        false);
    ik_tool_discovery_options_t options = {
        .paths = paths, .config = config, .host = host, .servers = ik_mcp_supplier(mcp)};
    ready = ik_tool_discovery_run(ctx, &options, &found);
    ik_tool_context_t context = {.host = host, .config = config, .folder = paths->cwd};
    ik_tool_request_t request = {.name = "echo__echo",
                                 .arguments = "{}",
                                 .arguments_len = 2,
                                 .call_id = "bench",
                                 .session_id = "bench"};
    bool worked = is_ok(&ready);
    for (int i = -10; worked && i < count; i++) { /* the first calls start the server */
        double begin = now_us();
        ik_tool_result_t *result = ik_tool_call_run(ctx, &context, found->registry, &request);
        worked = result->success;
        times[i < 0 ? 0 : i] = now_us() - begin;
        talloc_free(result);
    }
    if (worked) {
        printf("{\"call\": %.1f, \"server\": %.1f}\n", median(times, count), own);
    }
    ik_mcp_close(mcp, 300);
    talloc_free(mcp);
    talloc_free(host);
    talloc_free(ctx);
    return worked ? 0 : 1;
}

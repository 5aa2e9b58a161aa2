/*
 * The one place that starts processes. They are children of the keeper (src/keeper), which is
 * started before the first of them and ends whatever they leave behind, also when ikigai is gone.
 *
 * A process is described once, runs with its own session, has its output drained and bounded, and
 * ends in exactly one on_end call: when it and everything it started is gone, or when even SIGKILL
 * did not help for a while. Its deadlines are enforced here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "io/loop.h"

typedef struct ik_process_host ik_process_host_t;
typedef struct ik_process ik_process_t;

typedef enum {
    IK_PROCESS_EXITED,      /* by itself; see exit_code */
    IK_PROCESS_NOT_STARTED, /* see error */
    IK_PROCESS_IDLE,        /* ended: no progress for idle_ms */
    IK_PROCESS_OVERTIME,    /* ended: ran for max_ms */
    IK_PROCESS_CANCELLED,   /* ended by ik_process_cancel */
    IK_PROCESS_FLOODED,     /* ended: more output than max_out, and stop_when_full */
    IK_PROCESS_LOST,        /* the keeper died */
} ik_process_end_t;

typedef struct {
    ik_process_end_t end;
    res_t error;   /* for NOT_STARTED and LOST */
    int exit_code; /* 128 + N when killed by signal N; -1 when there was none */
    ik_buffer_t out;
    ik_buffer_t err;
    size_t leftovers; /* background processes that had to be ended */
    int64_t wall_ms;
    int64_t cpu_us;
    int64_t max_rss_kb;
} ik_process_result_t;

/* Strings are copied; callbacks come from the loop, never from inside ik_process_start. */
typedef struct {
    const char *const *argv; /* NULL-terminated; argv[0] is the path */
    const char *const *env;  /* NULL-terminated additions "NAME=VALUE", or NULL */
    const char *folder;      /* working folder */
    const char *input;       /* standard input; NULL for an empty one */
    size_t input_len;
    size_t max_out; /* more is drained and counted in result->out.dropped */
    bool stop_when_full;
    /* on_end comes as soon as it is decided that the process must end, and does not wait for that
     * end, which follows in the background. */
    bool impatient;
    size_t max_err; /* 0: standard error goes to /dev/null */
    int64_t idle_ms;
    int64_t max_ms;
    /* Lines the process writes to its progress descriptor (IKIGAI_PROGRESS_FD); NULL: it gets
     * none. Return true for a line that counts as progress. */
    bool (*on_progress)(void *data, const char *line, size_t len);
    /* The result lives until on_end returns, which may take the output's data out of it; the
     * process frees itself then. */
    void (*on_end)(void *data, ik_process_result_t *result);
    void *data;
} ik_process_options_t;

/* No process is started yet; the keeper comes with the first one. Freeing the host ends all
 * processes and waits until the keeper is done. */
ik_process_host_t *ik_process_host_create(const void *ctx, ik_loop_t *loop,
                                          const char *keeper_path);
ik_loop_t *ik_process_host_loop(const ik_process_host_t *host);

/* Freeing the process before its end cancels it silently: on_end is not called. Fails only when
 * the keeper cannot be started or a descriptor cannot be had. */
res_t ik_process_start(const void *ctx, ik_process_host_t *host,
                       const ik_process_options_t *options, ik_process_t **out);

/* Ends it: SIGTERM to the whole tree, SIGKILL half a second later. on_end follows. */
void ik_process_cancel(ik_process_t *process);

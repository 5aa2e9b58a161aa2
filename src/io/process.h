/*
 * Starts tool processes. They are children of the keeper (src/keeper), which is started before the
 * first of them and ends whatever they leave behind, even when ikigai has died.
 *
 * A process runs in its own session, its output is drained and bounded, and its deadlines are
 * enforced here. It ends with exactly one call of on_end: when it and everything it started are
 * gone, or when SIGKILL has had no effect for a while.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/keeper_protocol.h"
#include "io/loop.h"

typedef struct ik_process_host ik_process_host_t;
typedef struct ik_process ik_process_t;

typedef enum {
    IK_PROCESS_EXITED,      /* on its own; see exit_code */
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
    int exit_code; /* 128 + N when killed by signal N; -1 when it is not known */
    int limit;     /* the one of options->limits that ended it; -1: none, or it is not known */
    ik_buffer_t out;
    ik_buffer_t err;
    size_t leftovers; /* background processes that had to be ended */
    int64_t wall_ms;
    int64_t cpu_us;
    int64_t max_rss_kb;
} ik_process_result_t;

#define IK_PROCESS_NO_LIMIT (INT64_MAX / 4)

enum { IK_PROCESS_INPUT_MAX = 64 * 1024 * 1024 }; /* bytes that wait to be read by the process */

/* Strings are copied; callbacks come from the loop, never from inside ik_process_start. */
typedef struct {
    const char *const *argv; /* NULL-terminated; argv[0] is the path */
    const char *const *env;  /* NULL-terminated additions "NAME=VALUE", or NULL */
    const char *folder;      /* working folder */
    const char *input;       /* standard input; NULL for /dev/null */
    size_t input_len;
    size_t max_out; /* further output is drained and counted in result->out.dropped */
    /* May be NULL. Called once, when the output has reached max_out: returns a new maximum. */
    size_t (*on_full)(void *data, const ik_buffer_t *out);
    bool stop_when_full; /* end the process when its output exceeds max_out */
    /* When the process must be ended, call on_end at once and let it end in the background. */
    bool impatient;
    size_t max_err; /* 0: standard error goes to /dev/null */
    bool join_err;  /* standard error goes where standard output goes; max_err does not count */
    /* For a process that is talked to: its output as it arrives (err: that of standard error),
     * instead of in the result. May not free the process. NULL: output is collected. */
    void (*on_output)(void *data, bool err, const char *bytes, size_t len);
    bool keeps_input; /* standard input is a pipe; see ik_process_write */
    int64_t idle_ms;  /* IK_PROCESS_NO_LIMIT: none; likewise max_ms */
    int64_t max_ms;
    uint64_t limits[IK_KEEPER_LIMITS]; /* 0: none */
    /* Called for each line that the process writes to its progress descriptor
     * (IKIGAI_PROGRESS_FD); NULL: it gets no such descriptor. Returns whether the line counts as
     * progress. */
    bool (*on_progress)(void *data, const char *line, size_t len);
    /* A descriptor that the process gets as IK_KEEPER_CHANNEL, with on_progress only; 0: none. The
     * caller closes its own copy. */
    int channel;
    /* The process frees itself and the result after on_end, which may take the output out of the
     * result. */
    void (*on_end)(void *data, ik_process_result_t *result);
    void *data;
} ik_process_options_t;

/* A room that the keeper of a host confines itself to before it starts a process; see
 * base/keeper_protocol.h. */
typedef struct {
    uint32_t flags;           /* ik_room_flag_t */
    const char *const *steps; /* copied */
    size_t step_count;
    /* Called before each start of the keeper: fills in a mount for each IK_ROOM_SHARED, or what
     * IK_ROOM_JOIN needs, which is used up, and returns how many. May be NULL: there are none. */
    size_t (*take_mounts)(void *data, int mounts[IK_KEEPER_MAX_MOUNTS]);
    /* Called from the loop when the room was made, or could not be: error is an errno and part says
     * what failed. mounts are those of each IK_ROOM_COPY, several times over, or the
     * IK_ROOM_HANDLES of the room; the callee closes them. Called again when the keeper died and a
     * new one was started. May be NULL. */
    void (*on_made)(void *data, int error, ik_room_part_t part, const int *mounts, size_t count);
    void *data;
} ik_process_room_t;

/* The keeper is started with the first process. Freeing the host ends all processes and waits for
 * the keeper to exit. */
ik_process_host_t *ik_process_host_create(const void *ctx, ik_loop_t *loop,
                                          const char *keeper_path);
/* As ik_process_host_create, for processes in a room. */
ik_process_host_t *ik_process_host_create_room(const void *ctx, ik_loop_t *loop,
                                               const char *keeper_path,
                                               const ik_process_room_t *room);
/* Starts the keeper now, if it does not run, so that the first process need not wait for it. */
res_t ik_process_host_open(ik_process_host_t *host);
ik_loop_t *ik_process_host_loop(const ik_process_host_t *host);

/* Freeing the process before its end cancels it without on_end. Fails when the keeper cannot be
 * started, no descriptor is left, or the command line is too long; other errors reach on_end. */
res_t ik_process_start(const void *ctx, ik_process_host_t *host,
                       const ik_process_options_t *options, ik_process_t **out);

/* Stops both clocks, idle_ms and max_ms, and lets them go on. */
void ik_process_pause_clocks(ik_process_t *process, bool paused);

/* Sends bytes to the standard input of a process with keeps_input; what it does not read yet is
 * kept. False when it does not read, and too much is waiting; the bytes are dropped then. What a
 * process that has closed its input no longer reads is dropped silently. */
bool ik_process_write(ik_process_t *process, const char *bytes, size_t len);
/* Closes its standard input, which asks many a server to exit. */
void ik_process_close_input(ik_process_t *process);

/* Ends the process and everything it started: SIGTERM, then SIGKILL half a second later. on_end
 * follows. */
void ik_process_cancel(ik_process_t *process);

/* Whether a process with a limit of processor time (0: none) was ended by it: it died of this
 * signal after that much time. One that ignores SIGXCPU gets SIGKILL a second later. */
bool ik_process_is_cpu_limit(int signal, int64_t cpu_us, int64_t seconds);

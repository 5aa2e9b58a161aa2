/*
 * bash: runs a shell command and answers with its output and exit code.
 *
 * The call ends when the shell ends, not at the end of the output: a server started in the
 * background may keep the pipe open.
 *
 * SIGTERM (ikigai's deadline, or the user's Esc) ends the command. The answer, with the output so
 * far, is then sent before the command's grace period is over, because SIGKILL may follow at any
 * time.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/head_tail.h"
#include "base/host_client.h"
#include "base/keeper_protocol.h"
#include "tools/bash/progress_line.h"
#include "tools/bash/shell_command.h"
#include "tools/common/host_relay.h"
#include "tools/common/tool_program.h"

enum {
    DRAIN_MS = 100,            /* for reading the rest of the pipe after the shell has ended */
    GRACE_MS = 450,            /* between SIGTERM and SIGKILL */
    LAST_WORDS_MS = 100,       /* of those, how long to collect output before answering */
    GIVE_UP_MS = 100,          /* after SIGKILL: do not wait for a process stuck in the kernel */
    TICK_MS = 10,              /* how often to poll for the end of the shell, without a pidfd */
    TIMEOUT_MAX_SECONDS = 599, /* answer before ikigai's own limit of 600 */
    EXIT_TIMED_OUT = 124,
    EXIT_NOT_RUN = 127,
};

#define NEVER INT64_MAX

typedef struct {
    ik_tool_call_t *call;
    ik_shell_command_t command;
    ik_head_tail_t kept;
    ik_progress_line_t progress;
    int64_t term_at;
    int64_t kill_at;
    int64_t give_up_at;
    int64_t answer_at; /* when to answer an interrupted call although the command runs */
    bool timed_out;
    bool interrupted; /* by SIGTERM */
    bool answered;
} session_t;

static volatile sig_atomic_t terminated;

static void on_terminate(int signal)
{
    (void)signal;
    terminated = 1;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Reads once; false if nothing was read. */
static bool read_output(session_t *session)
{
    static char block[65536];
    if (session->command.output < 0) {
        return false;
    }
    ssize_t got = read(session->command.output, block, sizeof(block));
    if (got > 0) {
        if (!session->answered) {
            ik_head_tail_add(&session->kept, block, (size_t)got);
        }
        ik_progress_line_add(&session->progress, block, (size_t)got);
        return true;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(session->command.output);
        session->command.output = -1;
    }
    return false;
}

static void answer(session_t *session, int exit_code)
{
    ik_tool_call_t *call = session->call;
    ik_buffer_t output;
    ik_buffer_init(&output, call->ctx, IK_BUFFER_UNLIMITED); /* bounded by kept.limit */
    ik_buffer_append(&output, "", 0);
    bool truncated = ik_head_tail_format(&session->kept, &output);
    ik_tool_answer_output(call, output.data, output.len);
    ik_tool_answer_integer(call, "exit_code", exit_code);
    if (session->timed_out) {
        ik_tool_answer_boolean(call, "timed_out", true);
    }
    if (truncated) {
        ik_tool_answer_boolean(call, "truncated", true);
        ik_tool_answer_integer(call, "total_bytes", (int64_t)session->kept.total);
    }
    ik_tool_answer_send(call);
    session->answered = true;
}

static void answer_not_run(session_t *session, const char *reason)
{
    ik_head_tail_add(&session->kept, reason, strlen(reason));
    answer(session, EXIT_NOT_RUN);
}

static void terminate_command(session_t *session, int64_t now)
{
    session->term_at = NEVER;
    session->kill_at = earlier(session->kill_at, now + GRACE_MS);
    if (session->interrupted && getenv(IK_KEEPER_TAG) != NULL) {
        return; /* the keeper has sent it to all of us; a second one would run a trap twice */
    }
    ik_shell_command_signal(&session->command, SIGTERM);
    ik_shell_command_signal(&session->command, SIGCONT); /* a stopped process ignores SIGTERM */
}

/* Does what is due: ends the command, answers, or sends progress. */
static void act_on_clock(session_t *session, int64_t now)
{
    if (terminated && !session->interrupted) {
        session->interrupted = true;
        session->answer_at = now + LAST_WORDS_MS;
        terminate_command(session, now);
    }
    if (now >= session->term_at) {
        session->timed_out = true;
        terminate_command(session, now);
    }
    if (now >= session->answer_at) {
        session->answer_at = NEVER;
        answer(session, 128 + SIGTERM);
    }
    if (now >= session->kill_at) {
        session->kill_at = NEVER;
        session->give_up_at = now + GIVE_UP_MS;
        ik_shell_command_signal(&session->command, SIGKILL);
    }
    ik_progress_line_tick(&session->progress, now);
}

/* Milliseconds until act_on_clock has something to do; -1: never. */
static int poll_timeout(const session_t *session, int64_t now)
{
    int64_t due = ik_progress_line_due(&session->progress);
    due = earlier(due, earlier(session->term_at, earlier(session->kill_at, session->give_up_at)));
    due = earlier(due, session->answer_at);
    if (session->command.exit_fd < 0) {
        due = earlier(due, now + TICK_MS);
    }
    if (due == NEVER) {
        return -1;
    }
    int64_t wait = due > now ? due - now : 0;
    return wait < INT_MAX ? (int)wait : INT_MAX;
}

/* SIGTERM is blocked except inside ppoll, so that it cannot arrive between check and sleep. */
static void wait_for_events(struct pollfd *fds, nfds_t count, int timeout)
{
    struct timespec limit = {.tv_sec = timeout / 1000, .tv_nsec = timeout % 1000 * 1000000L};
    sigset_t none;
    sigemptyset(&none);
    if (ppoll(fds, count, timeout < 0 ? NULL : &limit, &none) < 0) {
        for (nfds_t i = 0; i < count; i++) {
            fds[i].revents = 0;
        }
    }
}

/* During the grace period the call also waits for other processes of the group, as long as one of
 * them has the pipe open. */
static bool is_over(const session_t *session, bool ended, int64_t now)
{
    if (now >= session->give_up_at) {
        return true;
    }
    bool in_grace = session->kill_at != NEVER && session->command.output >= 0;
    return ended && !in_grace;
}

static void follow(session_t *session)
{
    bool ended = false;
    int64_t now = ik_clock_now_ms();
    while (!is_over(session, ended, now)) {
        struct pollfd fds[] = {
            {.fd = session->command.output, .events = POLLIN},
            {.fd = ended ? -1 : session->command.exit_fd, .events = POLLIN},
        };
        wait_for_events(fds, 2, poll_timeout(session, now));
        if (fds[0].revents != 0) {
            read_output(session);
        }
        if (fds[1].revents != 0 || session->command.exit_fd < 0) {
            ended = ended || ik_shell_command_ended(&session->command);
        }
        now = ik_clock_now_ms();
        act_on_clock(session, now);
    }
    if (session->timed_out || session->interrupted) {
        ik_shell_command_signal(&session->command, SIGKILL);
    }
    /* With a limit, because a background child may print endlessly. */
    int64_t until = ik_clock_now_ms() + DRAIN_MS;
    while (read_output(session) && ik_clock_now_ms() < until) {
    }
    ik_progress_line_finish(&session->progress);
}

/* When SIGTERM and the end of the shell, which got one as well, arrive together, ppoll returns the
 * end and leaves the signal blocked. */
static bool is_sigterm_pending(void)
{
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1;
}

/* Ends by SIGTERM, so that the caller sees that the call was interrupted. */
static void die_of_sigterm(void)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGTERM, SIG_DFL);
    raise(SIGTERM);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void catch_sigterm(void)
{
    struct sigaction action = {.sa_handler = on_terminate};
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static pid_t running; /* the command's process group; 0: none */

static void kill_command(void)
{
    if (running > 0) {
        kill(-running, SIGKILL);
    }
}

static session_t *create_session(ik_tool_call_t *call)
{
    session_t *session = ik_new(call->ctx, session_t);
    session->call = call;
    bool limited = ik_tool_param_given(call, "timeout_seconds");
    int64_t seconds = ik_tool_param_integer(call, "timeout_seconds", 0);
    int64_t now = ik_clock_now_ms();
    session->term_at = limited ? now + earlier(seconds, TIMEOUT_MAX_SECONDS) * 1000 : NEVER;
    session->kill_at = NEVER;
    session->give_up_at = NEVER;
    session->answer_at = NEVER;
    ik_head_tail_init(&session->kept, session, call->max_output);
    ik_progress_line_init(&session->progress, limited, now);
    return session;
}

/* Has ikigai start this program again, as a job in the same room. */
static void start_job(ik_tool_call_t *call, const char *text, size_t len)
{
    ik_host_relay_send(call, json_pack("{s:s, s:s, s:s%, s:{s:s%}}", "op", "job", "action", "start",
                                       "command", text, len, "input", "command", text, len));
}

/* In the background: nothing is collected, and ikigai reads what the command prints. */
static int run_job(ik_tool_call_t *call)
{
    size_t len;
    const char *text = ik_tool_param_string(call, "command", &len, NULL);
    int error = ik_shell_command_become(text, len);
    fprintf(stderr, "sh: cannot run: %s\n", strerror(error));
    return EXIT_NOT_RUN;
}

static void run(ik_tool_call_t *call)
{
    size_t len;
    const char *text = ik_tool_param_string(call, "command", &len, NULL);
    if (ik_tool_param_boolean(call, "background") && len > 0) {
        start_job(call, text, len);
        return;
    }
    ik_host_client_drop(); /* the channel is not for the command */
    session_t *session = create_session(call);
    if (len == 0) {
        answer_not_run(session, "sh: empty command");
        return;
    }
    catch_sigterm();
    int error = ik_shell_command_start(&session->command, text, len);
    if (error == ENOMEM) {
        ik_alloc_fail();
    }
    if (error != 0) {
        answer_not_run(session, ik_sprintf(call->ctx, "sh: cannot run: %s", strerror(error)));
        return;
    }
    running = session->command.pid;
    follow(session);
    running = 0;
    int exit_code = ik_shell_command_finish(&session->command);
    if (!session->answered) {
        answer(session, session->timed_out ? EXIT_TIMED_OUT : exit_code);
    }
    if (session->interrupted || is_sigterm_pending()) {
        die_of_sigterm();
    }
}

static const ik_tool_param_t params[] = {
    {.name = "command",
     .type = IK_TOOL_PARAM_STRING,
     .required = true,
     .text = true,
     .description = "Shell command to execute"},
    {.name = "timeout_seconds",
     .type = IK_TOOL_PARAM_INTEGER,
     .min = 1,
     .max = 600,
     .description = "Let the command run up to this many seconds even when it prints nothing "
                    "(1 to 600), then end it with exit code 124"},
    {.name = "background",
     .type = IK_TOOL_PARAM_BOOLEAN,
     .description = "Run the command in the background, for servers, watchers and long work: the "
                    "call returns {job, state} at once, and the tool job reads the output, waits "
                    "and ends it. It has no time limit and ends when ikigai leaves"},
    {.name = "permissions",
     .type = IK_TOOL_PARAM_STRING,
     .description = "Ask the user for more than the confinement allows: \"network\", or \"all\" "
                    "for no confinement. Only after a confined command has failed for lack of it"},
    {.name = "reason",
     .type = IK_TOOL_PARAM_STRING,
     .description = "Why the permissions are needed, shown to the user"},
    {0},
};

static const ik_tool_program_t program = {
    .name = "bash",
    .description = "Execute a shell command and return output. It writes only in the project and "
                   "/tmp and has no network, unless permissions asks for more. Variables with "
                   "secrets (*_API_KEY, *_TOKEN and the like) are not in its environment",
    .params = params,
    .returns =
        "{\"type\":\"object\",\"properties\":{"
        "\"output\":{\"type\":\"string\",\"description\":\"What the command printed, stdout "
        "and stderr in order, without the last newline\"},"
        "\"exit_code\":{\"type\":\"integer\",\"description\":\"Exit code; 128+N if ended "
        "by signal N\"},"
        "\"timed_out\":{\"type\":\"boolean\",\"description\":\"Ended by timeout_seconds\"},"
        "\"truncated\":{\"type\":\"boolean\",\"description\":\"The middle of the output is "
        "missing\"},"
        "\"total_bytes\":{\"type\":\"integer\",\"description\":\"Bytes the command "
        "printed\"},"
        "\"job\":{\"type\":\"string\",\"description\":\"With background: the job, for the tool "
        "job\"},"
        "\"state\":{\"type\":\"string\",\"description\":\"With background: running\"}},"
        "\"required\":[]}",
    .limits =
        "Keeps the beginning and the end of the output, IKIGAI_MAX_OUTPUT bytes in all (default "
        "1 GB). Memory: at most ten times that.",
    .effects = {.write = IK_WRITE_PROJECT},
    .escalation = "permissions",
    .host = IK_HOST_JOB,
    .run = run,
    .job = run_job,
    .abandon = kill_command,
};

int main(int argc, char **argv)
{
    return ik_tool_program_main(&program, argc, argv);
}

#include "io/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/config_secret.h"
#include "base/file.h"
#include "base/keeper_protocol.h"
#include "base/process_tree.h"
#include "base/send_message.h"

enum {
    DRAIN_MS = 100,       /* limit for reading the pipes after the end */
    READ_SIZE = 65536,    /* a pipe's capacity */
    READS_PER_EVENT = 16, /* so that one tool cannot starve the loop with output */
    PROGRESS_LINE_MAX = 4096,
    ORPHANS_MS = 1000,   /* limit for ending what a killed keeper left behind */
    KEEPER_MS = 2000,    /* limit for the keeper's exit */
    KEEPER_LOOK_MS = 20, /* interval of checks whether the keeper has exited */
    STOPS_MAX = 3,       /* a keeper that was stopped this often will not exit by itself */
    STOPPED_MS = 320,    /* time after an end request when a stopped keeper is checked for */
    HUNG_MS = 30000,     /* limit for a keeper that does not report an end */
};

struct ik_process_host {
    ik_loop_t *loop;
    char *keeper_path;
    pid_t keeper;
    ik_watch_t *socket; /* NULL while no keeper runs */
    int stops;          /* how often the keeper was found stopped when it should exit */
    bool orphans_left;  /* not all that a killed keeper left behind was ended in time */
    int null_fd;
    uint32_t last_id;
    ik_process_t *processes;
    ik_process_room_t *room; /* NULL: processes are not confined */
    bool room_pending;       /* the keeper has not reported yet whether the room could be made */
};

/* One output of a process: bounded, drained to its end. */
typedef struct {
    ik_watch_t *watch; /* NULL once the end was read */
    ik_buffer_t *buffer;
    size_t (*on_full)(void *data, const ik_buffer_t *out); /* may raise the maximum; NULL: fixed */
    void (*on_output)(void *data, bool err, const char *bytes, size_t len); /* NULL: collected */
    bool err;
    void *data;
} drain_t;

struct ik_process {
    ik_process_host_t *host;
    ik_process_t *next;
    uint32_t id;
    bool ending;  /* the keeper was asked to end it */
    bool late;    /* its end takes longer than it should */
    bool overdue; /* its deadline has passed; pending input is read before it is ended */
    bool stop_when_full;
    bool impatient;
    ik_timer_t *timer;
    int64_t started_ms;
    int64_t clock_ms;    /* started_ms without the time that its clocks were stopped */
    int64_t progress_ms; /* when it last showed progress, by the same clock */
    int64_t paused_ms;   /* when its clocks were stopped; 0: they run */
    int64_t idle_ms;
    int64_t max_ms;
    uint64_t limits[IK_KEEPER_LIMITS];
    drain_t out;
    drain_t err;
    drain_t progress;
    ik_buffer_t progress_line;
    int input_fd;            /* -1: none, or closed */
    ik_watch_t *input_watch; /* NULL: nothing waits to be written */
    ik_buffer_t input;       /* what waits */
    size_t input_done;       /* bytes of it that were written */
    ik_process_result_t result;
    bool (*on_progress)(void *data, const char *line, size_t len);
    void (*on_end)(void *data, ik_process_result_t *result);
    void *data;
};

/* --- output ------------------------------------------------------------------------------ */

/* Reads once; false when no more can be read now, or at the end. */
static bool read_some(drain_t *drain)
{
    static char overflow[READ_SIZE];
    ik_buffer_t *buffer = drain->buffer;
    size_t room = drain->on_output != NULL ? 0 : ik_buffer_reserve(buffer, READ_SIZE);
    char *target = room > 0 ? buffer->data + buffer->len : overflow;
    ssize_t got = read(ik_watch_fd(drain->watch), target, room > 0 ? room : sizeof(overflow));
    if (got < 0) {
        return errno == EINTR;
    }
    if (got == 0) {
        TALLOC_FREE(drain->watch);
        return false;
    }
    if (drain->on_output != NULL) {
        drain->on_output(drain->data, drain->err, overflow, (size_t)got);
    } else if (room > 0) {
        buffer->len += (size_t)got;
        buffer->data[buffer->len] = '\0';
        if (buffer->len == buffer->max && drain->on_full != NULL) {
            buffer->max = drain->on_full(drain->data, buffer);
            drain->on_full = NULL;
        }
    } else {
        buffer->dropped += (uint64_t)got;
    }
    return true;
}

static void drain_ready(drain_t *drain)
{
    for (int i = 0; i < READS_PER_EVENT && drain->watch != NULL && read_some(drain); i++) {
    }
}

static void begin_end(ik_process_t *process, ik_process_end_t end);

static void on_out(void *data)
{
    ik_process_t *process = data;
    drain_ready(&process->out);
    if (process->stop_when_full && process->result.out.dropped > 0) {
        begin_end(process, IK_PROCESS_FLOODED);
    }
}

static void on_err(void *data)
{
    drain_ready(&((ik_process_t *)data)->err);
}

/* Passes complete lines on and keeps the rest; a line that is too long is ignored. */
static void take_progress_lines(ik_process_t *process)
{
    ik_buffer_t *pending = &process->progress_line;
    char *line = pending->data;
    char *end = pending->data + pending->len;
    char *newline;
    while (line < end && (newline = memchr(line, '\n', (size_t)(end - line))) != NULL) {
        size_t len = (size_t)(newline - line);
        if (len <= PROGRESS_LINE_MAX && process->on_progress(process->data, line, len)) {
            process->progress_ms = ik_clock_now_ms();
        }
        line = newline + 1;
    }
    size_t rest = (size_t)(end - line);
    memmove(pending->data, line, rest);
    pending->len = rest > PROGRESS_LINE_MAX ? PROGRESS_LINE_MAX + 1 : rest;
}

static void on_progress_readable(void *data)
{
    ik_process_t *process = data;
    for (int i = 0; i < READS_PER_EVENT && process->progress.watch != NULL; i++) {
        if (!read_some(&process->progress)) {
            break;
        }
        take_progress_lines(process);
    }
}

/* Everything the process wrote before it ended is in the pipes now. Only an escaped process could
 * still write, so reading stops when the pipes are empty, not at their end. */
static void drain_rest(ik_process_t *process)
{
    int64_t until = ik_clock_now_ms() + DRAIN_MS;
    drain_t *drains[] = {&process->out, &process->err};
    for (size_t i = 0; i < IK_LENGTH(drains); i++) {
        while (drains[i]->watch != NULL && read_some(drains[i]) && ik_clock_now_ms() <= until) {
        }
    }
    on_progress_readable(process);
}

/* --- input ------------------------------------------------------------------------------- */

void ik_process_close_input(ik_process_t *process)
{
    TALLOC_FREE(process->input_watch);
    ik_buffer_reset(&process->input);
    if (process->input_fd >= 0) {
        close(process->input_fd);
        process->input_fd = -1;
    }
}

static void on_writable(void *data);

/* Writes what waits; SIGPIPE is ignored by the program. */
static void write_input(ik_process_t *process)
{
    ik_buffer_t *input = &process->input;
    while (process->input_done < input->len) {
        ssize_t put = write(process->input_fd, input->data + process->input_done,
                            input->len - process->input_done);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0 && errno == EAGAIN) {
            if (process->input_watch == NULL) {
                process->input_watch =
                    ik_watch_create_borrowed(process, process->host->loop, process->input_fd,
                                             IK_WATCH_WRITABLE, on_writable, process);
            }
            return;
        }
        if (put < 0) {
            ik_process_close_input(process);
            return;
        }
        process->input_done += (size_t)put;
    }
    TALLOC_FREE(process->input_watch);
    ik_buffer_reset(input);
    process->input_done = 0;
}

static void on_writable(void *data)
{
    write_input(data);
}

bool ik_process_write(ik_process_t *process, const char *bytes, size_t len)
{
    if (process->input_fd < 0) {
        return true;
    }
    ik_buffer_t *input = &process->input;
    if (len > input->max - (input->len - process->input_done)) {
        return false;
    }
    if (process->input_done > 0) { /* makes room for it */
        memmove(input->data, input->data + process->input_done, input->len - process->input_done);
        input->len -= process->input_done;
        process->input_done = 0;
    }
    ik_buffer_append(input, bytes, len);
    if (process->input_watch == NULL) {
        write_input(process);
    }
    return true;
}

/* --- the end ----------------------------------------------------------------------------- */

static void unlink_process(ik_process_t *process)
{
    ik_process_t **link = &process->host->processes;
    while (*link != process) {
        link = &(*link)->next;
    }
    *link = process->next;
}

/* A tool may have stopped the keeper, which is its parent. */
static void wake_keeper(ik_process_host_t *host)
{
    kill(host->keeper, SIGCONT);
}

static void send_request(ik_process_host_t *host, const void *packet, size_t len,
                         const struct msghdr *with_fds)
{
    wake_keeper(host);
    struct iovec part = {.iov_base = (void *)packet, .iov_len = len};
    struct msghdr message = {0};
    if (with_fds != NULL) {
        message = *with_fds;
    }
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    /* Sending may block, but the keeper reads within microseconds. The watch notices when the
     * keeper is gone, and takes one for gone that cannot be reached. */
    if (!ik_send_message(ik_watch_fd(host->socket), &message)) {
        shutdown(ik_watch_fd(host->socket), SHUT_RDWR);
    }
}

static void request_end(ik_process_t *process)
{
    process->ending = true;
    if (process->host->socket != NULL) {
        ik_keeper_request_t request = {.kind = IK_KEEPER_END, .id = process->id};
        send_request(process->host, &request, sizeof(request), NULL);
    }
}

static int abandon_process(ik_process_t *process)
{
    ik_process_close_input(process);
    request_end(process);
    unlink_process(process);
    return 0;
}

static void finish(ik_process_t *process)
{
    process->result.wall_ms = ik_clock_now_ms() - process->started_ms;
    ik_process_close_input(process);
    unlink_process(process);
    /* on_end may free the owner; the process and its result must outlive that. */
    talloc_set_destructor(process, (int (*)(ik_process_t *))NULL);
    ik_alloc_take(process);
    ik_timer_stop(process->timer);
    process->on_end(process->data, &process->result);
    talloc_free(process);
}

static void begin_end(ik_process_t *process, ik_process_end_t end)
{
    if (process->ending) {
        return;
    }
    process->result.end = end;
    request_end(process);
    if (process->impatient) {
        finish(process);
    } else {
        ik_timer_start(process->timer, STOPPED_MS);
    }
}

/* The end was requested but not reported, although the keeper reports in time even when SIGKILL has
 * no effect. A keeper that a tool keeps stopping is killed; the watch notices that, and the orphans
 * become our children. */
static void on_late_end(ik_process_t *process)
{
    ik_process_host_t *host = process->host;
    if (process->late) {
        finish(process);
        return;
    }
    process->late = true;
    siginfo_t info = {0};
    int options = WSTOPPED | WNOHANG | WNOWAIT;
    if (host->socket != NULL && waitid(P_PID, (id_t)host->keeper, &info, options) == 0 &&
        info.si_pid == host->keeper) {
        kill(host->keeper, SIGKILL);
    }
    ik_timer_start(process->timer, HUNG_MS);
}

static int64_t next_deadline(const ik_process_t *process)
{
    int64_t idle_at = process->progress_ms + process->idle_ms;
    int64_t end_at = process->clock_ms + process->max_ms;
    return idle_at < end_at ? idle_at : end_at;
}

/* Progress only updates progress_ms, which is checked when the timer fires; so frequent progress
 * does not restart the timer each time. A round of the loop runs timers before descriptors: if
 * ikigai itself was suspended (stopped, a laptop asleep), progress or even the end may have arrived
 * in time without having been read. The process is therefore ended one round after its deadline. */
static void on_deadline(void *data)
{
    ik_process_t *process = data;
    int64_t now = ik_clock_now_ms();
    if (process->ending) {
        on_late_end(process);
        return;
    }
    bool first_look = now >= next_deadline(process) && !process->overdue;
    process->overdue = first_look;
    if (first_look) {
        ik_timer_start(process->timer, 1);
    } else if (now >= process->clock_ms + process->max_ms) {
        begin_end(process, IK_PROCESS_OVERTIME);
    } else if (now >= process->progress_ms + process->idle_ms) {
        begin_end(process, IK_PROCESS_IDLE);
    } else {
        ik_timer_start(process->timer, next_deadline(process) - now);
    }
}

void ik_process_pause_clocks(ik_process_t *process, bool paused)
{
    if (process->ending || paused == (process->paused_ms != 0)) {
        return;
    }
    int64_t now = ik_clock_now_ms();
    if (paused) {
        process->paused_ms = now;
        process->overdue = false;
        ik_timer_stop(process->timer);
        return;
    }
    int64_t away = now - process->paused_ms;
    bool progressed = process->progress_ms >= process->paused_ms;
    process->clock_ms += away;
    process->progress_ms = progressed ? now : process->progress_ms + away;
    process->paused_ms = 0;
    ik_timer_start(process->timer, next_deadline(process) - now);
}

void ik_process_cancel(ik_process_t *process)
{
    begin_end(process, IK_PROCESS_CANCELLED);
}

/* A limit of the user or the machine gets its own code, because no other process can be started
 * either. */
static res_t describe_start_error(const char *what, int error)
{
    if (error == EAGAIN || error == ENOMEM) {
        return ERR(LIMIT, "%s: %s; raise the limit (%s) or end other processes", what,
                   strerror(error), error == EAGAIN ? "ulimit -u" : "ulimit -v");
    }
    return ERR(SYSTEM, "%s: %s", what, strerror(error));
}

bool ik_process_is_cpu_limit(int signal, int64_t cpu_us, int64_t seconds)
{
    /* The kernel counts ticks for the limit, which on a busy machine are far more than the time
     * used. SIGXCPU hardly has another cause, SIGKILL may well have one. */
    int64_t least_us = signal == SIGXCPU ? 100000 : 500000; /* of each second */
    return seconds > 0 && (signal == SIGXCPU || signal == SIGKILL) && cpu_us / least_us >= seconds;
}

/* The limit that ended the process. */
static int find_limit(const ik_process_t *process, const ik_keeper_report_t *report)
{
    int signal = WIFSIGNALED(report->wait_status) ? WTERMSIG(report->wait_status) : 0;
    if (report->crowded) {
        return IK_KEEPER_LIMIT_PROCESSES;
    }
    if (report->error == ENOMEM && process->limits[IK_KEEPER_LIMIT_MEMORY] > 0) {
        return IK_KEEPER_LIMIT_MEMORY;
    }
    if (signal == SIGXFSZ && process->limits[IK_KEEPER_LIMIT_FILE_SIZE] > 0) {
        return IK_KEEPER_LIMIT_FILE_SIZE;
    }
    bool killed_by_us = signal == SIGKILL && process->ending;
    return !killed_by_us &&
                   ik_process_is_cpu_limit(signal, (int64_t)(report->user_us + report->system_us),
                                           (int64_t)process->limits[IK_KEEPER_LIMIT_CPU_SECONDS])
               ? IK_KEEPER_LIMIT_CPU_SECONDS
               : -1;
}

static void take_report(ik_process_t *process, const ik_keeper_report_t *report)
{
    ik_process_result_t *result = &process->result;
    if (report->error != 0) {
        result->end = IK_PROCESS_NOT_STARTED;
        bool limited = report->error == EAGAIN || report->error == ENOMEM;
        result->error = limited ? describe_start_error("Cannot start a process", report->error)
                                : ERR(SYSTEM, "%s", strerror(report->error));
    } else if (WIFSIGNALED(report->wait_status)) {
        result->exit_code = 128 + WTERMSIG(report->wait_status);
    } else {
        result->exit_code = WEXITSTATUS(report->wait_status);
    }
    result->limit = find_limit(process, report);
    result->leftovers = report->leftovers;
    result->cpu_us = (int64_t)(report->user_us + report->system_us);
    result->max_rss_kb = (int64_t)report->max_rss_kb;
    drain_rest(process);
    finish(process);
}

/* --- the keeper -------------------------------------------------------------------------- */

/* True when the keeper has exited. Wakes it when a tool has stopped it. */
static bool keeper_has_exited(ik_process_host_t *host)
{
    int status = 0;
    pid_t got = waitpid(host->keeper, &status, WNOHANG | WUNTRACED);
    if (got > 0 && WIFSTOPPED(status)) {
        host->stops++;
        wake_keeper(host);
        got = 0;
    }
    return got > 0 || (got < 0 && errno != EINTR);
}

/* Whether the kernel ends all processes of the host together with its keeper. */
static bool has_namespaces(const ik_process_host_t *host)
{
    return host->room != NULL && (host->room->flags & IK_ROOM_NAMESPACES) != 0;
}

/* Asks the keeper to end all processes and exit, and waits for that for a limited time; the keeper
 * goes on without us. Only a keeper that a tool keeps stopping is killed; its processes are then
 * ours to end. */
static void end_keeper(ik_process_host_t *host)
{
    int64_t until = ik_clock_now_ms() + KEEPER_MS;
    int fd = ik_watch_fd(host->socket);
    struct pollfd hangup = {.fd = fd}; /* POLLHUP when the keeper exits */
    bool exited = false;
    shutdown(fd, SHUT_WR);
    wake_keeper(host);
    while (!exited && ik_clock_now_ms() < until) {
        poll(&hangup, 1, KEEPER_LOOK_MS);
        exited = keeper_has_exited(host);
    }
    ik_process_tree_spare(host->keeper, false);
    if (!exited && host->stops >= STOPS_MAX) {
        kill(host->keeper, SIGKILL);
        if (!has_namespaces(host)) {
            ik_process_tree_kill_all(ORPHANS_MS, ORPHANS_MS);
        }
    }
}

/* The keeper was killed, and its children with it; their children are now ours, and we have no
 * others but the keepers of other hosts. Every running process is lost unless it was ending anyway.
 * on_end may start a process, which gets a new keeper and an id above last_id. */
static void lose_keeper(ik_process_host_t *host)
{
    uint32_t last_id = host->last_id;
    talloc_free(host->socket);
    host->socket = NULL;
    kill(host->keeper, SIGKILL); /* it may have closed the socket and still be alive */
    ik_process_tree_spare(host->keeper, false);
    if (has_namespaces(host)) {
        waitpid(host->keeper, NULL, WNOHANG);
    } else {
        host->orphans_left = !ik_process_tree_kill_all(ORPHANS_MS, ORPHANS_MS);
    }
    if (host->room_pending && host->room->on_made != NULL) {
        host->room->on_made(host->room->data, EPIPE, IK_ROOM_PART_NONE, NULL, 0);
    }
    host->room_pending = false;
    for (;;) {
        ik_process_t *process = host->processes;
        while (process != NULL && process->id > last_id) {
            process = process->next;
        }
        if (process == NULL) {
            return;
        }
        if (!process->ending) {
            process->result.end = IK_PROCESS_LOST;
            process->result.error = ERR(SYSTEM, "the process keeper died");
        }
        drain_rest(process);
        finish(process);
    }
}

/* The keeper of a room with namespaces is a process that the first one started; it, too, is our
 * child. */
static void take_room_report(ik_process_host_t *host, const ik_keeper_report_t *report,
                             const int *mounts, size_t count)
{
    if (report->wait_status > 0) {
        ik_process_tree_spare(host->keeper, false);
        waitpid(host->keeper, NULL, WNOHANG);
        host->keeper = report->wait_status;
        ik_process_tree_spare(host->keeper, true);
    } else if (host->room_pending && host->room->on_made != NULL) {
        host->room_pending = false;
        host->room->on_made(host->room->data, report->error, (ik_room_part_t)report->leftovers,
                            mounts, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        close(mounts[i]);
    }
}

static ssize_t receive_report(ik_process_host_t *host, ik_keeper_report_t *report, int *mounts,
                              size_t *count)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * IK_KEEPER_MAX_MOUNTS)];
        struct cmsghdr align;
    } control;
    struct iovec part = {.iov_base = report, .iov_len = sizeof(*report)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = host->room == NULL ? 0 : sizeof(control.bytes)};
    ssize_t got = recvmsg(ik_watch_fd(host->socket), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    struct cmsghdr *header = got < 0 ? NULL : CMSG_FIRSTHDR(&message);
    *count = 0;
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        *count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(mounts, CMSG_DATA(header), *count * sizeof(int));
    }
    return got;
}

static void on_report(void *data)
{
    ik_process_host_t *host = data;
    ik_keeper_report_t report;
    int mounts[IK_KEEPER_MAX_MOUNTS];
    size_t mount_count;
    while (host->socket != NULL) {
        ssize_t got = receive_report(host, &report, mounts, &mount_count);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && errno == EAGAIN) {
            return;
        }
        if (got != sizeof(report)) {
            lose_keeper(host);
            return;
        }
        if (report.id == 0) {
            take_room_report(host, &report, mounts, mount_count);
            continue;
        }
        ik_process_t *process = host->processes;
        while (process != NULL && process->id != report.id) {
            process = process->next;
        }
        if (process != NULL) {
            take_report(process, &report);
        }
    }
}

static res_t spawn_keeper(ik_process_host_t *host, int child_end)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (int fd = 0; fd <= 2; fd++) {
        posix_spawn_file_actions_adddup2(&actions, host->null_fd, fd);
    }
    posix_spawn_file_actions_adddup2(&actions, child_end, IK_KEEPER_SOCKET);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    char *argv[] = {(char *)"ikigai-keeper", NULL};
    char **environment = ik_config_secret_environment(host);
    int error =
        posix_spawn(&host->keeper, host->keeper_path, &actions, &attributes, argv, environment);
    talloc_free(environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        char *what = ik_sprintf(host, "Cannot start %s", host->keeper_path);
        res_t failed = describe_start_error(what, error);
        talloc_free(what);
        return failed;
    }
    return OK;
}

static void append_strings(ik_buffer_t *packet, const char *const *strings, uint32_t *count);
static void send_with_fds(ik_process_host_t *host, const ik_buffer_t *packet, const int *fds,
                          size_t count);

static res_t send_room(ik_process_host_t *host)
{
    ik_keeper_request_t request = {.kind = IK_KEEPER_ROOM, .envc = host->room->flags};
    ik_buffer_t packet;
    ik_buffer_init(&packet, host, IK_KEEPER_MAX_PACKET);
    ik_buffer_append(&packet, (const char *)&request, sizeof(request));
    append_strings(&packet, host->room->steps, &request.argc);
    if (packet.dropped > 0) {
        ik_buffer_reset(&packet);
        return ERR(LIMIT, "A room for confined tools needs too many mounts");
    }
    memcpy(packet.data, &request, sizeof(request));
    int mounts[IK_KEEPER_MAX_MOUNTS];
    size_t count =
        host->room->take_mounts == NULL ? 0 : host->room->take_mounts(host->room->data, mounts);
    send_with_fds(host, &packet, mounts, count);
    for (size_t i = 0; i < count; i++) {
        close(mounts[i]);
    }
    host->room_pending = true;
    ik_buffer_reset(&packet);
    return OK;
}

static res_t start_keeper(ik_process_host_t *host)
{
    int ends[2];
    if (host->null_fd < 0) {
        host->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    }
    if (host->null_fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        return ERR(SYSTEM, "Cannot start %s: %s", host->keeper_path, strerror(errno));
    }
    /* If a tool kills the keeper, its orphans become our children (lose_keeper). */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    /* A number above those the child sets up, so that its dup2 cannot overwrite it. */
    int child_end = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
    close(ends[1]);
    res_t started = spawn_keeper(host, child_end);
    close(child_end);
    if (is_err(&started)) {
        close(ends[0]);
        return started;
    }
    host->socket = ik_watch_create(host, host->loop, ends[0], on_report, host);
    ik_process_tree_spare(host->keeper, true);
    return host->room == NULL ? OK : send_room(host);
}

res_t ik_process_host_open(ik_process_host_t *host)
{
    return host->socket == NULL ? start_keeper(host) : OK;
}

static int close_host(ik_process_host_t *host)
{
    while (host->processes != NULL) {
        talloc_free(host->processes);
    }
    if (host->socket != NULL) {
        end_keeper(host);
        talloc_free(host->socket);
    } else if (host->keeper > 0) {
        waitpid(host->keeper, NULL, WNOHANG);
    }
    if (host->orphans_left) {
        ik_process_tree_kill_all(ORPHANS_MS, ORPHANS_MS);
    }
    if (host->null_fd >= 0) {
        close(host->null_fd);
    }
    return 0;
}

ik_process_host_t *ik_process_host_create(const void *ctx, ik_loop_t *loop, const char *keeper_path)
{
    ik_process_host_t *host = ik_new(ctx, ik_process_host_t);
    host->loop = loop;
    host->keeper_path = ik_strdup(host, keeper_path);
    host->null_fd = -1;
    talloc_set_destructor(host, close_host);
    return host;
}

ik_process_host_t *ik_process_host_create_room(const void *ctx, ik_loop_t *loop,
                                               const char *keeper_path,
                                               const ik_process_room_t *room)
{
    ik_process_host_t *host = ik_process_host_create(ctx, loop, keeper_path);
    host->room = ik_new(host, ik_process_room_t);
    *host->room = *room;
    const char **steps = ik_new_array(host->room, const char *, room->step_count + 1);
    for (size_t i = 0; i < room->step_count; i++) {
        steps[i] = ik_strdup(steps, room->steps[i]);
    }
    host->room->steps = steps;
    return host;
}

ik_loop_t *ik_process_host_loop(const ik_process_host_t *host)
{
    return host->loop;
}

/* --- starting ---------------------------------------------------------------------------- */

/* The child's descriptors while they are being opened; -1: not open. */
typedef struct {
    int fds[IK_KEEPER_MAX_FDS];
    size_t count;
    bool null_input; /* fds[0] is the host's null_fd */
    bool null_err;   /* fds[2] is the host's null_fd */
    bool join_err;   /* fds[2] is fds[1] */
    bool channel;    /* fds[4] is the caller's */
} child_ends_t;

/* Standard input is a file in memory, which cannot fill up like a pipe and needs no writer. After
 * an error it is closed by the caller, as the other ends are. */
static res_t make_input(const ik_process_options_t *options, int *fd)
{
    *fd = ik_file_open_anonymous("input", true);
    if (*fd < 0) {
        return ERR(SYSTEM, "Cannot create an input file: %s", strerror(errno));
    }
    size_t done = 0;
    while (done < options->input_len) {
        ssize_t put = write(*fd, options->input + done, options->input_len - done);
        if (put < 0 && errno != EINTR) {
            return ERR(SYSTEM, "Cannot write the input: %s", strerror(errno));
        }
        done += put > 0 ? (size_t)put : 0;
    }
    lseek(*fd, 0, SEEK_SET);
    return OK;
}

static res_t make_pipe(ik_process_t *process, drain_t *drain, ik_buffer_t *buffer,
                       ik_watch_fn on_readable, int child_flags, int *child_end)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | child_flags) < 0) {
        return ERR(SYSTEM, "Cannot create a pipe: %s", strerror(errno));
    }
    if ((child_flags & O_NONBLOCK) == 0) {
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
    }
    drain->buffer = buffer;
    drain->watch = ik_watch_create(process, process->host->loop, ends[0], on_readable, process);
    *child_end = ends[1];
    return OK;
}

/* A pipe to the standard input of the process. */
static res_t open_input(ik_process_t *process, int *child_end)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) {
        return ERR(SYSTEM, "Cannot create a pipe: %s", strerror(errno));
    }
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    *child_end = ends[0];
    process->input_fd = ends[1];
    return OK;
}

static res_t open_ends(ik_process_t *process, const ik_process_options_t *options,
                       child_ends_t *ends)
{
    ends->null_input = options->input == NULL && !options->keeps_input;
    ends->join_err = options->join_err;
    ends->null_err = options->max_err == 0 && !ends->join_err;
    ends->channel = options->channel != 0;
    ends->count = ends->channel ? 5 : options->on_progress != NULL ? 4 : 3;
    ends->fds[0] = ends->null_input ? process->host->null_fd : -1;
    ends->fds[2] = ends->null_err ? process->host->null_fd : -1;
    ends->fds[1] = ends->fds[3] = -1;
    ends->fds[4] = options->channel;
    ik_buffer_init(&process->result.out, process, options->max_out);
    process->out.on_full = options->on_full;
    process->out.data = process->err.data = options->data;
    process->out.on_output = process->err.on_output = options->on_output;
    process->err.err = true;
    ik_buffer_init(&process->input, process, IK_PROCESS_INPUT_MAX);
    ik_buffer_init(&process->result.err, process, options->max_err);
    ik_buffer_init(&process->progress_line, process, PROGRESS_LINE_MAX + READ_SIZE);
    if (options->keeps_input) {
        TRY(open_input(process, &ends->fds[0]));
    } else if (!ends->null_input) {
        TRY(make_input(options, &ends->fds[0]));
    }
    TRY(make_pipe(process, &process->out, &process->result.out, on_out, 0, &ends->fds[1]));
    if (ends->join_err) {
        ends->fds[2] = ends->fds[1];
    } else if (!ends->null_err) {
        TRY(make_pipe(process, &process->err, &process->result.err, on_err, 0, &ends->fds[2]));
    }
    if (options->on_progress != NULL) {
        TRY(make_pipe(process, &process->progress, &process->progress_line, on_progress_readable,
                      O_NONBLOCK, &ends->fds[3]));
    }
    return OK;
}

static void close_ends(const child_ends_t *ends)
{
    for (size_t i = 0; i < ends->count; i++) {
        bool shared = (i == 0 && ends->null_input) ||
                      (i == 2 && (ends->null_err || ends->join_err)) || (i == 4 && ends->channel);
        if (!shared && ends->fds[i] >= 0) {
            close(ends->fds[i]);
        }
    }
}

static void append_strings(ik_buffer_t *packet, const char *const *strings, uint32_t *count)
{
    for (*count = 0; strings != NULL && strings[*count] != NULL; (*count)++) {
        ik_buffer_append(packet, strings[*count], strlen(strings[*count]) + 1);
    }
}

/* Sends a packet with descriptors attached. */
static void send_with_fds(ik_process_host_t *host, const ik_buffer_t *packet, const int *fds,
                          size_t count)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * IK_KEEPER_MAX_MOUNTS)];
        struct cmsghdr align;
    } control = {0};
    struct msghdr message = {0};
    if (count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(header), fds, sizeof(int) * count);
    }
    send_request(host, packet->data, packet->len, &message);
}

static res_t send_start(ik_process_t *process, const ik_process_options_t *options,
                        const child_ends_t *ends)
{
    ik_keeper_request_t request = {.kind = IK_KEEPER_START, .id = process->id};
    memcpy(request.limits, options->limits, sizeof(request.limits));
    ik_buffer_t packet;
    ik_buffer_init(&packet, process, IK_KEEPER_MAX_PACKET);
    ik_buffer_append(&packet, (const char *)&request, sizeof(request));
    ik_buffer_append(&packet, options->folder, strlen(options->folder) + 1);
    append_strings(&packet, options->argv, &request.argc);
    append_strings(&packet, options->env, &request.envc);
    if (packet.dropped > 0) {
        ik_buffer_reset(&packet);
        return ERR(LIMIT, "The command line and environment of %s are too long", options->argv[0]);
    }
    memcpy(packet.data, &request, sizeof(request)); /* the counts are known now */
    send_with_fds(process->host, &packet, ends->fds, ends->count);
    ik_buffer_reset(&packet);
    return OK;
}

static ik_process_t *create_process(const void *ctx, ik_process_host_t *host,
                                    const ik_process_options_t *options)
{
    ik_process_t *process = ik_new(ctx, ik_process_t);
    process->host = host;
    process->id = ++host->last_id;
    process->input_fd = -1;
    process->stop_when_full = options->stop_when_full;
    process->impatient = options->impatient;
    process->idle_ms = options->idle_ms;
    process->max_ms = options->max_ms;
    process->on_progress = options->on_progress;
    process->on_end = options->on_end;
    process->data = options->data;
    process->result.exit_code = -1;
    process->result.limit = -1;
    memcpy(process->limits, options->limits, sizeof(process->limits));
    return process;
}

static void begin_watching(ik_process_t *process)
{
    ik_process_host_t *host = process->host;
    process->started_ms = process->clock_ms = process->progress_ms = ik_clock_now_ms();
    process->timer = ik_timer_create(process, host->loop, on_deadline, process);
    ik_timer_start(process->timer, next_deadline(process) - process->started_ms);
    process->next = host->processes;
    host->processes = process;
    talloc_set_destructor(process, abandon_process);
}

res_t ik_process_start(const void *ctx, ik_process_host_t *host,
                       const ik_process_options_t *options, ik_process_t **out)
{
    TRY(ik_process_host_open(host));
    ik_process_t *process = create_process(ctx, host, options);
    child_ends_t ends = {0};
    res_t opened = open_ends(process, options, &ends);
    if (is_ok(&opened)) {
        opened = send_start(process, options, &ends);
    }
    close_ends(&ends);
    if (is_err(&opened)) {
        ik_process_close_input(process);
        talloc_free(process);
        return opened;
    }
    begin_watching(process);
    *out = process;
    return OK;
}

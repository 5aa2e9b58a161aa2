/*
 * The keeper: the parent of all tool processes.
 *
 * It is a child subreaper, so whatever a tool starts, however often it forks or detaches, is
 * orphaned to the keeper and not to init. It reaps with wait4 and so gets CPU time and peak memory
 * of each tool. When its socket closes, however ikigai died, it ends every descendant and exits.
 *
 * A call goes through four phases: RUNNING until its first process exits or ikigai asks for its
 * end; TERM once all its processes were sent SIGTERM; KILL when the grace is over; GONE when none
 * is left. Only then is it reported. While no call is ending, the loop sleeps in ppoll without a
 * timeout.
 *
 * Whatever a tool does, each round of the loop is bounded: in the number of processes it reaps and
 * in the number of searches for processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/keeper_protocol.h"
#include "base/process_tree.h"
#include "base/send_message.h"
#include "keeper/restriction.h"
#include "keeper/room.h"

enum {
    ORPHANED_GRACE_MS = 100, /* between SIGTERM and SIGKILL when ikigai has died */
    UNKILLABLE_MS = 2000,    /* wait for processes that SIGKILL does not end */
    RETRY_MS = 5,
    /* Killing takes about 1 ms per process, which is subtracted from the grace, up to this. */
    KILL_TIME_MAX_MS = 150,
    /* The pause after a search for processes, as a multiple of the CPU time it took. */
    LOOK_PAUSE = 3,
    /* A storm is more than STORM processes that exit in one round, as with a fork bomb. They are
     * then confined to one processor and do not wake us one by one; we sleep for NAP_MS instead. */
    STORM = 32,
    REAP_MAX = 1024,  /* in one round of a storm, so that requests are not left waiting */
    STORM_ROUNDS = 3, /* in a row: many processes may end at once when they are asked to */
    NAP_MS = 10,
    STORM_LOOK_MS = 50,
    STORM_GRACE_MS = 200,
    /* How often the processes of a call with a limit are counted, unless that takes too long. */
    COUNT_MS = 50,
    CROWD_FACTOR = 2, /* beyond this multiple of the limit there is no grace */
};

typedef enum { RUNNING, TERM, KILL, GONE } phase_t;

typedef struct call {
    ik_process_tree_t tree;
    ik_keeper_report_t report;
    phase_t phase;
    int64_t kill_at_ms;   /* when the grace is over; 0: its end was not requested */
    int64_t killed_ms;    /* when SIGKILL had reached all its processes; 0: not yet */
    size_t processes_max; /* 0: no limit */
    bool reported;
    struct call *next;
} call_t;

typedef struct {
    const char *folder;
    char **argv;
    char **environment;
    int fds[IK_KEEPER_MAX_FDS];
    size_t fd_count;
    const uint64_t *limits; /* IK_KEEPER_LIMITS of them */
} start_t;

static call_t *calls;
static int64_t next_look_ms;  /* no search for processes before this */
static int64_t next_count_ms; /* when processes are counted again */
static int64_t look_due_ms;   /* when a search that had to wait is due; 0: none */
static size_t reaped;         /* in this round */
/* The limit of reaped in this round. A storm is first confined, then reaped. */
static size_t reap_max = STORM + 1;
/* A Landlock ruleset that keeps a call from signalling us where there is no PID namespace; -1: none
 */
static int call_ruleset = -1;

/* False when ikigai is not reading at the moment. Waiting here could deadlock, because ikigai may
 * be waiting for us to read its next request. */
static bool send_report(const ik_keeper_report_t *report)
{
    ssize_t sent;
    do {
        sent = send(IK_KEEPER_SOCKET, report, sizeof(*report), MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return sent >= 0 || errno != EAGAIN;
}

/* --- starting ---------------------------------------------------------------------------- */

/* Ignored by the keeper; all others have their default action (prepare_signals). */
static const int ignored_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
enum { IGNORED_SIGNALS = IK_LENGTH(ignored_signals) };

/* Runs between vfork and exec in our memory, so it may only make system calls. Returns errno. */
static int become_tool(const start_t *start)
{
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < IGNORED_SIGNALS; i++) {
        signal(ignored_signals[i], SIG_DFL);
    }
    for (size_t i = 0; i < start->fd_count; i++) {
        if (dup2(start->fds[i], (int)i) < 0) {
            return errno;
        }
    }
    if (chdir(start->folder) < 0) {
        return errno;
    }
    static const struct {
        int kind;
        int resource;
        rlim_t slack; /* at the soft limit of CPU time comes SIGXCPU, at the hard one SIGKILL */
    } resources[] = {{IK_KEEPER_LIMIT_MEMORY, RLIMIT_AS, 0},
                     {IK_KEEPER_LIMIT_FILE_SIZE, RLIMIT_FSIZE, 0},
                     {IK_KEEPER_LIMIT_CPU_SECONDS, RLIMIT_CPU, 1}};
    for (size_t i = 0; i < IK_LENGTH(resources); i++) {
        rlim_t wanted = start->limits[resources[i].kind];
        struct rlimit limit;
        if (wanted == 0 || getrlimit(resources[i].resource, &limit) < 0) {
            continue;
        }
        /* Only root may raise a limit that we have inherited. */
        limit.rlim_cur = wanted < limit.rlim_cur ? wanted : limit.rlim_cur;
        limit.rlim_max = wanted + resources[i].slack < limit.rlim_max ? wanted + resources[i].slack
                                                                      : limit.rlim_max;
        if (setrlimit(resources[i].resource, &limit) < 0) {
            return errno;
        }
    }
    /* No core file; 1 and not 0, with which the kernel would still start a program that takes it.
     */
    setrlimit(RLIMIT_CORE, &(struct rlimit){.rlim_cur = 1, .rlim_max = 1});
    if (call_ruleset >= 0) {
        ik_restriction_restrict_call(call_ruleset);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(start->argv[0], start->argv, start->environment);
    if (errno == ENOEXEC) {
        /* A script without a #! line; shells run it with sh. argv[-1] is reserved for this. */
        start->argv[-1] = (char *)"sh";
        execve("/bin/sh", start->argv - 1, start->environment);
    }
    return errno;
}

static pid_t spawn(const start_t *start, int *error)
{
    volatile int failed = 0;
    ik_process_tree_share_processors(); /* the tool gets them all, not our part */
    pid_t pid = vfork();
    if (pid == 0) {
        failed = become_tool(start);
        _exit(127);
    }
    *error = pid < 0 ? errno : failed;
    return pid;
}

static bool same_name(const char *variable, const char *other)
{
    size_t len = strcspn(variable, "=");
    return strncmp(variable, other, len) == 0 && other[len] == '=';
}

/* Our own environment, with the given variables added or replaced. */
static char **merge_environment(const void *ctx, char **extra, size_t extra_count)
{
    size_t own = 0;
    while (environ[own] != NULL) {
        own++;
    }
    char **merged = ik_new_array(ctx, char *, own + extra_count + 1);
    size_t n = 0;
    for (size_t i = 0; i < own; i++) {
        bool replaced = false;
        for (size_t j = 0; j < extra_count && !replaced; j++) {
            replaced = same_name(extra[j], environ[i]);
        }
        if (!replaced) {
            merged[n++] = environ[i];
        }
    }
    memcpy(merged + n, extra, extra_count * sizeof(*extra));
    return merged;
}

/* Splits the strings after the header; NULL when the packet contains fewer than it declares. */
static char **split_strings(const void *ctx, char *bytes, size_t len, size_t count)
{
    char **strings = ik_new_array(ctx, char *, count + 1);
    char *end = bytes + len;
    for (size_t i = 0; i < count; i++) {
        char *nul = memchr(bytes, '\0', (size_t)(end - bytes));
        if (nul == NULL) {
            return NULL;
        }
        strings[i] = bytes;
        bytes = nul + 1;
    }
    return strings;
}

static call_t *create_call(uint32_t id)
{
    static uint64_t serial;
    call_t *call = ik_new(NULL, call_t);
    call->report.id = id;
    call->tree.tag =
        ik_sprintf(call, IK_KEEPER_TAG "=%d.%llu", (int)getpid(), (unsigned long long)++serial);
    return call;
}

static void start_call(const ik_keeper_request_t *request, char *bytes, size_t len, int *fds,
                       size_t fd_count)
{
    call_t *call = create_call(request->id);
    char **strings = split_strings(call, bytes, len, 1 + (size_t)request->argc + request->envc);
    int error = EINVAL;
    if (strings != NULL && request->argc > 0) {
        char **argv = ik_new_array(call, char *, request->argc + 2);
        memcpy(argv + 1, strings + 1, request->argc * sizeof(*argv));
        char **extra = ik_new_array(call, char *, request->envc + 1);
        memcpy(extra, strings + 1 + request->argc, request->envc * sizeof(*extra));
        extra[request->envc] = (char *)call->tree.tag;
        start_t start = {.folder = strings[0],
                         .argv = argv + 1,
                         .environment = merge_environment(call, extra, request->envc + 1),
                         .fd_count = fd_count,
                         .limits = request->limits};
        memcpy(start.fds, fds, fd_count * sizeof(*fds));
        call->tree.root = spawn(&start, &error);
    }
    call->processes_max = (size_t)request->limits[IK_KEEPER_LIMIT_PROCESSES];
    call->report.error = error;
    call->phase = error == 0 ? RUNNING : GONE;
    call->tree.root_alive = error == 0;
    if (error != 0 && call->tree.root > 0) {
        waitpid(call->tree.root, NULL, 0);
    }
    call->next = calls;
    calls = call;
}

/* --- ending ------------------------------------------------------------------------------ */

/* In a storm most processes are gone before SIGTERM reaches them, and killing takes longer. */
static void ask_for_end(call_t *call)
{
    if (call->kill_at_ms == 0) {
        call->kill_at_ms =
            ik_clock_now_ms() + (reaped > STORM ? STORM_GRACE_MS : IK_KEEPER_GRACE_MS);
    }
}

static call_t *find_call(uint32_t id)
{
    call_t *call = calls;
    while (call != NULL && call->report.id != id) {
        call = call->next;
    }
    return call;
}

static void record_exit(call_t *call, int status, const struct rusage *usage)
{
    call->tree.root_alive = false;
    call->report.wait_status = status;
    call->report.user_us =
        (uint64_t)usage->ru_utime.tv_sec * 1000000 + (uint64_t)usage->ru_utime.tv_usec;
    call->report.system_us =
        (uint64_t)usage->ru_stime.tv_sec * 1000000 + (uint64_t)usage->ru_stime.tv_usec;
    call->report.max_rss_kb = (uint64_t)usage->ru_maxrss;
}

/* Reaps processes that have ended. True while there are children left. */
static bool reap(void)
{
    for (; reaped < reap_max; reaped++) {
        int status;
        struct rusage usage;
        pid_t pid = wait4(-1, &status, WNOHANG, &usage);
        if (pid <= 0) {
            return pid == 0;
        }
        for (call_t *call = calls; call != NULL; call = call->next) {
            if (call->tree.root_alive && call->tree.root == pid) {
                record_exit(call, status, &usage);
                break;
            }
        }
    }
    return true;
}

/* Advances a call that is ending but not to be killed yet. Its processes were just searched for;
 * all: the search was complete. */
static void advance(call_t *call, bool all)
{
    ik_process_tree_t *tree = &call->tree;
    bool first = call->phase == RUNNING;
    /* A stopped process acts on SIGTERM only once it is continued. */
    size_t found = ik_process_tree_signal(tree, first ? SIGTERM : 0, first ? SIGCONT : 0);
    if (first) {
        call->report.leftovers = tree->root_alive ? 0 : (uint32_t)found;
        call->kill_at_ms -= found < KILL_TIME_MAX_MS ? (int64_t)found : KILL_TIME_MAX_MS;
    }
    call->phase = all && found == 0 && !tree->root_alive ? GONE : TERM;
}

static bool is_ending(const call_t *call)
{
    return call->phase != GONE && (call->kill_at_ms != 0 || !call->tree.root_alive);
}

/* Marks the calls that are ending and returns how many there are. */
static size_t mark_ending(void)
{
    size_t ending = 0;
    for (call_t *call = calls; call != NULL; call = call->next) {
        if (call->phase == RUNNING && !call->tree.root_alive) {
            ask_for_end(call);
        }
        call->tree.wanted = is_ending(call);
        ending += call->tree.wanted;
    }
    return ending;
}

/* Kills the calls whose grace is over; false when their processes fork faster than we stop them. */
static bool kill_overdue(const void *ctx, ik_process_tree_t *const *trees, size_t count)
{
    bool any = false;
    for (call_t *call = calls; call != NULL; call = call->next) {
        call->tree.wanted = call->phase == KILL;
        any = any || call->tree.wanted;
    }
    bool cornered = !any || ik_process_tree_kill(ctx, trees, count);
    for (call_t *call = calls; cornered && call != NULL; call = call->next) {
        if (call->phase != KILL) {
            continue;
        }
        if (call->killed_ms == 0) {
            call->killed_ms = ik_clock_now_ms();
        }
        if (!call->tree.root_alive && ik_process_tree_signal(&call->tree, 0, 0) == 0) {
            call->phase = GONE;
        }
    }
    return cornered;
}

/* Searches for the processes of the calls that are ending and whose grace is not over. */
static void advance_polite(const void *ctx, ik_process_tree_t *const *trees, size_t count)
{
    bool any = false;
    for (call_t *call = calls; call != NULL; call = call->next) {
        call->tree.wanted = is_ending(call) && call->phase != KILL;
        any = any || call->tree.wanted;
    }
    bool all = any && ik_process_tree_find(ctx, trees, count);
    for (call_t *call = calls; call != NULL; call = call->next) {
        if (call->tree.wanted) {
            advance(call, all);
        }
    }
}

/* The trees of all calls, ending or not. */
static ik_process_tree_t **list_trees(const void *ctx, size_t *count)
{
    *count = 0;
    for (const call_t *call = calls; call != NULL; call = call->next) {
        ++*count;
    }
    ik_process_tree_t **trees = ik_new_array(ctx, ik_process_tree_t *, *count);
    size_t n = 0;
    for (call_t *call = calls; call != NULL; call = call->next) {
        trees[n++] = &call->tree;
    }
    return trees;
}

/* False when the next search must not wait. */
static bool look_at_ending(void)
{
    void *scratch = talloc_new(NULL);
    size_t count;
    ik_process_tree_t **trees = list_trees(scratch, &count);
    int64_t now = ik_clock_now_ms();
    for (call_t *call = calls; call != NULL; call = call->next) {
        if (call->phase == TERM && now >= call->kill_at_ms) {
            call->phase = KILL;
        }
    }
    bool cornered = kill_overdue(scratch, trees, count);
    advance_polite(scratch, trees, count);
    talloc_free(scratch);
    return cornered;
}

/* Whether the grace of a call is over. */
static bool any_overdue(int64_t now)
{
    const call_t *call = calls;
    while (call != NULL && (call->phase != TERM || now < call->kill_at_ms)) {
        call = call->next;
    }
    return call != NULL;
}

/* The CPU time of this process, which does not depend on the load of the machine. */
static int64_t cpu_ms(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

/* Every process that ends wakes us. When hundreds end, searching for all the others each time would
 * take longer than they live, so at most a quarter of our time is spent searching. */
static void advance_ending(bool have_children)
{
    size_t ending = mark_ending();
    int64_t begin = ik_clock_now_ms();
    look_due_ms = ending > 0 ? next_look_ms : 0;
    if (ending == 0 || (have_children && begin < next_look_ms && !any_overdue(begin))) {
        return;
    }
    if (have_children) {
        int64_t cpu_begin = cpu_ms();
        bool cornered = look_at_ending();
        int64_t end = ik_clock_now_ms();
        int64_t pause = LOOK_PAUSE * (cpu_ms() - cpu_begin);
        pause = reaped > STORM && pause < STORM_LOOK_MS ? STORM_LOOK_MS : pause;
        next_look_ms = cornered ? end + pause : end;
    } else {
        for (call_t *call = calls; call != NULL; call = call->next) {
            call->phase = call->tree.wanted ? GONE : call->phase;
        }
    }
    look_due_ms = 0;
}

static bool is_counted(const call_t *call)
{
    return call->processes_max > 0 && call->phase == RUNNING && call->kill_at_ms == 0 &&
           call->tree.root_alive;
}

/* Ends the calls that have more processes than they may. */
static void end_crowded(void)
{
    bool any = false;
    int64_t now = ik_clock_now_ms();
    for (call_t *call = calls; call != NULL; call = call->next) {
        call->tree.wanted = is_counted(call);
        any = any || call->tree.wanted;
    }
    if (!any || now < next_count_ms) {
        return;
    }
    void *scratch = talloc_new(NULL);
    size_t count;
    ik_process_tree_t **trees = list_trees(scratch, &count);
    int64_t cpu_begin = cpu_ms();
    ik_process_tree_find(scratch, trees, count);
    for (call_t *call = calls; call != NULL; call = call->next) {
        if (call->tree.wanted && call->tree.found.count > call->processes_max) {
            call->report.crowded = 1;
            call->kill_at_ms = now + STORM_GRACE_MS;
            if (call->tree.found.count > CROWD_FACTOR * call->processes_max) {
                call->phase = KILL; /* it grows so fast that it must not have time to grow on */
            }
        }
    }
    talloc_free(scratch);
    int64_t pause = LOOK_PAUSE * (cpu_ms() - cpu_begin);
    next_count_ms = ik_clock_now_ms() + (pause > COUNT_MS ? pause : COUNT_MS);
}

static void report_gone(void)
{
    call_t **link = &calls;
    while (*link != NULL) {
        call_t *call = *link;
        /* A call that SIGKILL does not end is reported but stays in the list. */
        bool unkillable = call->phase == KILL && call->killed_ms != 0 &&
                          ik_clock_now_ms() > call->killed_ms + UNKILLABLE_MS;
        if (!call->reported && (call->phase == GONE || unkillable)) {
            call->reported = send_report(&call->report);
        }
        if (call->phase == GONE && call->reported) {
            *link = call->next;
            talloc_free(call);
        } else {
            link = &call->next;
        }
    }
}

static void wake_at(int *timeout, int64_t when_ms)
{
    int64_t wait = when_ms - ik_clock_now_ms();
    int bounded = wait < 0 ? 0 : (int)wait;
    if (*timeout < 0 || bounded < *timeout) {
        *timeout = bounded;
    }
}

/* The timeout for ppoll: none unless a call is ending. */
static int next_timeout(void)
{
    int timeout = reaped == reap_max ? 0 : reaped > STORM ? NAP_MS : -1;
    if (look_due_ms != 0) {
        wake_at(&timeout, look_due_ms);
    }
    for (const call_t *call = calls; call != NULL; call = call->next) {
        if (is_counted(call)) {
            wake_at(&timeout, next_count_ms);
        } else if (call->phase == TERM) {
            wake_at(&timeout, call->kill_at_ms);
        } else if (call->phase != RUNNING) {
            wake_at(&timeout, ik_clock_now_ms() + RETRY_MS);
        }
    }
    return timeout;
}

/* Gives processes time to end by themselves, unless they are a storm, which would only grow. */
static void end_politely(void)
{
    ik_process_tree_signal_all(SIGTERM, SIGCONT);
    int64_t kill_at = ik_clock_now_ms() + ORPHANED_GRACE_MS;
    int stormy = 0;
    for (reaped = 0; reap() && stormy < STORM_ROUNDS && ik_clock_now_ms() < kill_at; reaped = 0) {
        stormy = reaped > STORM ? stormy + 1 : 0;
        poll(NULL, 0, stormy > 0 ? 0 : RETRY_MS);
    }
}

static void end_everything(void)
{
    if (reaped <= STORM) {
        end_politely();
    }
    /* The kernel reaps from now on. We could not keep up with a fork bomb: each of its processes
     * has as large a share of a processor as we do (sched(7), autogroup). */
    signal(SIGCHLD, SIG_IGN);
    ik_process_tree_kill_all(INT64_MAX / 2, UNKILLABLE_MS);
}

/* --- rooms ------------------------------------------------------------------------------- */

/* mounts are those that other rooms may share, or the handles of the room; they are closed. */
static void report_room(ik_room_result_t result, pid_t pid, const int *mounts, size_t count)
{
    ik_keeper_report_t report = {
        .error = result.error, .leftovers = (uint32_t)result.part, .wait_status = pid};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * IK_KEEPER_MAX_MOUNTS)] = {0};
    struct iovec part = {.iov_base = &report, .iov_len = sizeof(report)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(header), mounts, sizeof(int) * count);
    }
    if (!ik_send_message(IK_KEEPER_SOCKET, &message) && count > 0) {
        report.error = errno;
        message.msg_control = NULL;
        message.msg_controllen = 0;
        ik_send_message(IK_KEEPER_SOCKET, &message);
    }
    for (size_t i = 0; i < count; i++) {
        close(mounts[i]);
    }
}

/* For a keeper that has not started anything. To look for processes to end would be wrong: until
 * its room is made, /proc is that of another namespace, where its number is another process. */
_Noreturn static void exit_unused(void)
{
    _exit(0);
}

/* Confines this process as the first request asks, or exits. With namespaces, it has to be the
 * first process of its PID namespace: a new process, ikigai's child as we are. The kernel ends
 * everything in the namespace with it, and it with ikigai. */
static void enter_room(const ik_keeper_request_t *request, char *bytes, size_t len, int *mounts,
                       size_t mount_count)
{
    char **strings = split_strings(NULL, bytes, len, request->argc);
    if (strings == NULL) {
        exit_unused();
    }
    ik_room_request_t room = {.flags = request->envc,
                              .steps = strings,
                              .count = request->argc,
                              .mounts = mounts,
                              .mount_count = mount_count};
    ik_room_result_t result = {0};
    int shared[IK_KEEPER_MAX_MOUNTS];
    size_t shared_count = 0;
    if ((room.flags & IK_ROOM_JOIN) != 0) {
        report_room(ik_room_join(&room), 0, NULL, 0);
        exit_unused();
    }
    if ((room.flags & IK_ROOM_NAMESPACES) != 0) {
        result = ik_room_unshare(&room);
        if (result.error != 0) {
            report_room(result, 0, NULL, 0);
            exit_unused();
        }
        pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PARENT, 0, 0, 0, 0);
        if (pid != 0) {
            report_room((ik_room_result_t){.error = pid < 0 ? errno : 0,
                                           .part = pid < 0 ? IK_ROOM_PART_NAMESPACES : 0},
                        pid, NULL, 0);
            exit_unused();
        }
        setsid();
        result = ik_room_furnish(&room);
        if (result.error == 0 && (room.flags & IK_ROOM_SHARE) != 0) {
            result = ik_room_share(&room, shared, &shared_count);
        } else if (result.error == 0 && (room.flags & IK_ROOM_TRIAL) == 0) {
            result = ik_room_open(shared);
            shared_count = result.error == 0 ? IK_ROOM_HANDLES : 0;
        }
    }
    if (result.error == 0) {
        result = ik_room_restrict(&room);
    }
    if ((room.flags & IK_ROOM_NAMESPACES) == 0) {
        call_ruleset = ik_restriction_prepare_call();
    }
    talloc_free(strings);
    /* Calls may neither trace us nor read our memory. */
    prctl(PR_SET_DUMPABLE, 0);
    if ((room.flags & IK_ROOM_NAMESPACES) != 0) {
        /* ikigai's death ends us even when we are stopped, and with us everything in the room.
         * Without a PID namespace we have to end it ourselves. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    report_room(result, 0, shared, shared_count);
    if (result.error != 0 || (room.flags & IK_ROOM_TRIAL) != 0) {
        exit_unused();
    }
}

/* --- the loop ---------------------------------------------------------------------------- */

static size_t received_fds(struct msghdr *message, int *fds)
{
    size_t count = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
            count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            memcpy(fds, CMSG_DATA(c), count * sizeof(int));
        }
    }
    return count;
}

/* Handles one request; false when ikigai is gone. */
static bool serve_request(void)
{
    static char packet[IK_KEEPER_MAX_PACKET];
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * IK_KEEPER_MAX_MOUNTS)];
    struct iovec part = {.iov_base = packet, .iov_len = sizeof(packet)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    ssize_t got = recvmsg(IK_KEEPER_SOCKET, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got <= 0) {
        return got < 0 && (errno == EINTR || errno == EAGAIN);
    }
    int fds[IK_KEEPER_MAX_MOUNTS];
    size_t fd_count = received_fds(&message, fds);
    ik_keeper_request_t request;
    if ((size_t)got >= sizeof(request)) {
        memcpy(&request, packet, sizeof(request));
        call_t *call = find_call(request.id);
        if (request.kind == IK_KEEPER_ROOM) {
            enter_room(&request, packet + sizeof(request), (size_t)got - sizeof(request), fds,
                       fd_count);
        } else if (request.kind == IK_KEEPER_START && call == NULL &&
                   fd_count <= IK_KEEPER_MAX_FDS) {
            start_call(&request, packet + sizeof(request), (size_t)got - sizeof(request), fds,
                       fd_count);
        } else if (request.kind == IK_KEEPER_END && call != NULL) {
            ask_for_end(call);
        }
    }
    for (size_t i = 0; i < fd_count; i++) {
        close(fds[i]);
    }
    return true;
}

static void on_child(int signal)
{
    (void)signal; /* its arrival interrupts ppoll */
}

/* Signals sent to ikigai's terminal or process group must not end the keeper, which has to clean
 * up. All others get their default action, so that tools do not inherit ignored signals from ikigai
 * or its parent. */
static void prepare_signals(void)
{
    struct sigaction wake = {.sa_handler = on_child, .sa_flags = SA_NOCLDSTOP};
    for (int i = 1; i < NSIG; i++) {
        signal(i, SIG_DFL);
    }
    for (size_t i = 0; i < IGNORED_SIGNALS; i++) {
        signal(ignored_signals[i], SIG_IGN);
    }
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_SETMASK, &child, NULL);
    sigaction(SIGCHLD, &wake, NULL);
}

/* SIGCHLD is unblocked only here, so that none is missed between reaping and sleeping. True when
 * there is a request. */
static bool wait_for_events(void)
{
    struct pollfd polled = {.fd = IK_KEEPER_SOCKET, .events = POLLIN};
    int timeout = next_timeout();
    struct timespec limit = {.tv_sec = timeout / 1000, .tv_nsec = timeout % 1000 * 1000000L};
    sigset_t blocked;
    sigemptyset(&blocked);
    if (reaped > STORM) {
        sigaddset(&blocked, SIGCHLD);
    }
    return ppoll(&polled, 1, timeout < 0 ? NULL : &limit, &blocked) > 0;
}

int main(void)
{
    int type;
    socklen_t type_len = sizeof(type);
    if (getsockopt(IK_KEEPER_SOCKET, SOL_SOCKET, SO_TYPE, &type, &type_len) < 0) {
        fprintf(stderr, "keeper: cannot be run by hand; ikigai starts it\n");
        return 2;
    }
    fcntl(IK_KEEPER_SOCKET, F_SETFD, FD_CLOEXEC);
    /* Tools must not inherit descriptors that ikigai got from its parent. */
    closefrom(IK_KEEPER_SOCKET + 1);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prepare_signals();
    while (!wait_for_events() || serve_request()) {
        if (reaped > STORM) { /* first of all, while our time slice is still unused */
            void *scratch = talloc_new(NULL);
            size_t count;
            ik_process_tree_t **trees = list_trees(scratch, &count);
            ik_process_tree_confine(trees, count);
            talloc_free(scratch);
        } else {
            ik_process_tree_share_processors();
        }
        reap_max = reaped > STORM ? REAP_MAX : STORM + 1;
        reaped = 0;
        end_crowded();
        advance_ending(reap());
        reap();
        if (reaped < reap_max) { /* no zombie of a call is left when its end is reported */
            report_gone();
        }
    }
    end_everything();
    /* Not exit: in a sanitizer build the leak checker starts a process that traces us, which would
     * be taken for a child that has to end first. */
    _exit(0);
}

#include "io/foreground.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"

enum { FAREWELL_MS = 500 };

/* Ours to ignore while the program runs: they are sent to the whole process group. */
static const int keys[] = {SIGINT, SIGQUIT};
enum { KEY_COUNT = IK_LENGTH(keys) };
/* What ikigai itself does not want to hear of and a program expects at its default. */
static const int ours[] = {SIGPIPE, SIGXFSZ};
enum { OURS_COUNT = IK_LENGTH(ours) };

struct ik_foreground {
    pid_t pid;
    ik_watch_t *watch;                  /* of the pidfd */
    struct sigaction before[KEY_COUNT]; /* what the keys did; the loop's handlers among it */
    ik_foreground_fn on_end;
    void *data;
};

static void ignore_keys(ik_foreground_t *foreground)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < KEY_COUNT; i++) {
        sigaction(keys[i], &ignore, &foreground->before[i]);
    }
}

static void hear_keys(const ik_foreground_t *foreground)
{
    for (size_t i = 0; i < KEY_COUNT; i++) {
        sigaction(keys[i], &foreground->before[i], NULL);
    }
}

/* Exactly this child: others are reaped by whoever started them. */
static int reap(const ik_foreground_t *foreground, int options)
{
    int status = 0;
    pid_t got;
    do {
        got = waitpid(foreground->pid, &status, options);
    } while (got < 0 && errno == EINTR);
    if (got != foreground->pid) {
        return 128 + SIGKILL; /* somebody else was faster */
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int abandon(ik_foreground_t *foreground)
{
    struct pollfd end = {.fd = ik_watch_fd(foreground->watch), .events = POLLIN};
    kill(foreground->pid, SIGHUP);
    kill(foreground->pid, SIGCONT);
    poll(&end, 1, FAREWELL_MS);
    reap(foreground, WNOHANG);
    hear_keys(foreground);
    return 0;
}

/* Its owner may be freed from inside on_end. */
static void take_from_owner(ik_foreground_t *foreground)
{
    talloc_set_destructor(foreground, (int (*)(ik_foreground_t *))NULL);
    talloc_steal(NULL, foreground);
}

static void on_ended(void *data)
{
    ik_foreground_t *foreground = data;
    int status = reap(foreground, 0);
    hear_keys(foreground);
    take_from_owner(foreground);
    foreground->on_end(foreground->data, status);
    talloc_free(foreground);
}

/* What we handle would be reset by exec itself, but a signal may come before that and must not be
 * taken for one of ours: the loop's handlers write into a pipe that both have. */
static void reset_signals(const ik_foreground_t *foreground)
{
    struct sigaction action;
    sigset_t none;
    for (int number = 1; number < _NSIG; number++) {
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
            signal(number, SIG_DFL);
        }
    }
    for (size_t i = 0; i < OURS_COUNT; i++) {
        signal(ours[i], SIG_DFL);
    }
    for (size_t i = 0; i < KEY_COUNT; i++) {
        signal(keys[i], foreground->before[i].sa_handler == SIG_IGN ? SIG_IGN : SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the child. It gets SIGHUP when we die, however that is, and can put the terminal back. */
_Noreturn static void become(const ik_foreground_t *foreground, const char *const *argv,
                             pid_t parent, int report)
{
    prctl(PR_SET_PDEATHSIG, SIGHUP);
    reset_signals(foreground);
    if (getppid() == parent) {
        execvp(argv[0], (char *const *)argv);
    }
    int error = errno;
    while (write(report, &error, sizeof(error)) < 0 && errno == EINTR) {
    }
    _exit(127);
}

/* What the child could not do; 0: it has become the program. */
static int read_report(int fd)
{
    int error = 0;
    ssize_t got;
    do {
        got = read(fd, &error, sizeof(error));
    } while (got < 0 && errno == EINTR);
    return got == sizeof(error) ? error : 0;
}

static int fork_and_become(ik_foreground_t *foreground, const char *const *argv)
{
    int report[2];
    sigset_t all;
    sigset_t before;
    pid_t parent = getpid();
    if (pipe2(report, O_CLOEXEC) != 0) {
        return errno;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    foreground->pid = fork();
    int error = foreground->pid < 0 ? errno : 0;
    if (foreground->pid == 0) {
        become(foreground, argv, parent, report[1]);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(report[1]);
    error = error != 0 ? error : read_report(report[0]);
    close(report[0]);
    if (error != 0 && foreground->pid > 0) {
        reap(foreground, 0);
    }
    return error;
}

static res_t spawn(ik_foreground_t *foreground, const char *const *argv)
{
    int error = fork_and_become(foreground, argv);
    return error == 0 ? OK : ERR(SYSTEM, "Cannot start %s: %s", argv[0], strerror(error));
}

/* Without a descriptor for it (an old kernel, no descriptors left) we could not see its end. */
static res_t watch(ik_foreground_t *foreground, ik_loop_t *loop)
{
    int fd = (int)syscall(SYS_pidfd_open, foreground->pid, 0);
    if (fd < 0) {
        res_t failed = ERR(SYSTEM, "Cannot watch a program: %s", strerror(errno));
        kill(foreground->pid, SIGKILL);
        reap(foreground, 0);
        return failed;
    }
    foreground->watch = ik_watch_create(foreground, loop, fd, on_ended, foreground);
    return OK;
}

res_t ik_foreground_start(const void *ctx, ik_loop_t *loop, const char *const *argv,
                          ik_foreground_fn on_end, void *data, ik_foreground_t **out)
{
    ik_foreground_t *foreground = ik_new(ctx, ik_foreground_t);
    foreground->on_end = on_end;
    foreground->data = data;
    ignore_keys(foreground);
    res_t started = spawn(foreground, argv);
    if (is_ok(&started)) {
        started = watch(foreground, loop);
    }
    if (is_err(&started)) {
        hear_keys(foreground);
        talloc_free(foreground);
        return started;
    }
    talloc_set_destructor(foreground, abandon);
    *out = foreground;
    return OK;
}

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

/* Ignored while the program runs, because the terminal sends them to the whole process group. */
static const int keys[] = {SIGINT, SIGQUIT};
enum { KEY_COUNT = IK_LENGTH(keys) };
/* Ignored by ikigai; the program expects the default action. */
static const int ignored[] = {SIGPIPE, SIGXFSZ};
enum { IGNORED_COUNT = IK_LENGTH(ignored) };

struct ik_foreground {
    pid_t pid;
    ik_watch_t *watch;                  /* of the pidfd */
    struct sigaction before[KEY_COUNT]; /* previous actions of keys, the loop's handlers included */
    ik_foreground_fn on_end;
    void *data;
};

static void stop_ignoring_keys(const ik_foreground_t *foreground)
{
    for (size_t i = 0; i < KEY_COUNT; i++) {
        sigaction(keys[i], &foreground->before[i], NULL);
    }
}

/* Reaps only this child; the process host reaps its own. */
static int reap(const ik_foreground_t *foreground, int options)
{
    int status = 0;
    pid_t got;
    do {
        got = waitpid(foreground->pid, &status, options);
    } while (got < 0 && errno == EINTR);
    if (got != foreground->pid) {
        return 128 + SIGKILL; /* reaped elsewhere, so its status is lost */
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
    stop_ignoring_keys(foreground);
    return 0;
}

static void on_ended(void *data)
{
    ik_foreground_t *foreground = data;
    int status = reap(foreground, 0);
    stop_ignoring_keys(foreground);
    /* on_end may free the owner. */
    talloc_set_destructor(foreground, (int (*)(ik_foreground_t *))NULL);
    ik_alloc_take(foreground);
    foreground->on_end(foreground->data, status);
    talloc_free(foreground);
}

/* exec resets handled signals, but one may arrive before that; the loop's handler would then write
 * into a pipe that the child shares with us. */
static void reset_signals(const ik_foreground_t *foreground)
{
    struct sigaction action;
    sigset_t none;
    for (int number = 1; number < _NSIG; number++) {
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
            signal(number, SIG_DFL);
        }
    }
    for (size_t i = 0; i < IGNORED_COUNT; i++) {
        signal(ignored[i], SIG_DFL);
    }
    for (size_t i = 0; i < KEY_COUNT; i++) {
        signal(keys[i], foreground->before[i].sa_handler == SIG_IGN ? SIG_IGN : SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Runs in the child. It gets SIGHUP when ikigai dies in any way, so that it can restore the
 * terminal. */
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

/* The child's errno; 0 when exec succeeded. */
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

/* Fails on an old kernel or when no descriptor is left: without a pidfd its end would go unnoticed.
 */
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
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < KEY_COUNT; i++) {
        sigaction(keys[i], &ignore, &foreground->before[i]);
    }
    int error = fork_and_become(foreground, argv);
    res_t started = error == 0 ? watch(foreground, loop)
                               : ERR(SYSTEM, "Cannot start %s: %s", argv[0], strerror(error));
    if (is_err(&started)) {
        stop_ignoring_keys(foreground);
        talloc_free(foreground);
        return started;
    }
    talloc_set_destructor(foreground, abandon);
    *out = foreground;
    return OK;
}

#include "io/foreground.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"

enum { FAREWELL_MS = 500 };

/* Ours to ignore while the program runs: they are sent to the whole process group. */
static const int keys[] = {SIGINT, SIGQUIT};
/* What ikigai itself does not want to hear of and a program expects at its default. */
static const int ours[] = {SIGPIPE, SIGXFSZ};

struct ik_foreground {
    pid_t pid;
    ik_watch_t *watch;          /* of the pidfd */
    struct sigaction before[2]; /* what the keys did; the loop's handlers among it */
    ik_foreground_fn on_end;
    void *data;
};

static void ignore_keys(ik_foreground_t *foreground)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < 2; i++) {
        sigaction(keys[i], &ignore, &foreground->before[i]);
    }
}

static void hear_keys(const ik_foreground_t *foreground)
{
    for (size_t i = 0; i < 2; i++) {
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

static bool is_named(const char *entry, const char *const *names)
{
    size_t len = strcspn(entry, "=");
    for (; names != NULL && *names != NULL; names++) {
        if (strlen(*names) == len && memcmp(*names, entry, len) == 0) {
            return true;
        }
    }
    return false;
}

static char **make_environment(const void *ctx, const char *const *without)
{
    size_t count = 0;
    while (environ[count] != NULL) {
        count++;
    }
    char **env = ik_new_array(ctx, char *, count + 1);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_named(environ[i], without)) {
            env[kept++] = environ[i];
        }
    }
    return env;
}

/* Defaults for what we handle or ignore; what was ignored before us stays so. */
static void set_signals(posix_spawnattr_t *attributes, const ik_foreground_t *foreground)
{
    sigset_t defaults;
    sigset_t none;
    sigemptyset(&defaults);
    sigemptyset(&none);
    for (size_t i = 0; i < 2; i++) {
        sigaddset(&defaults, ours[i]);
        if (foreground->before[i].sa_handler != SIG_IGN) {
            sigaddset(&defaults, keys[i]);
        }
    }
    posix_spawnattr_setsigdefault(attributes, &defaults);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
}

static res_t spawn(ik_foreground_t *foreground, const char *const *argv,
                   const char *const *without_env)
{
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    set_signals(&attributes, foreground);
    char **env = make_environment(foreground, without_env);
    int error =
        posix_spawnp(&foreground->pid, argv[0], NULL, &attributes, (char *const *)argv, env);
    posix_spawnattr_destroy(&attributes);
    talloc_free(env);
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
                          const char *const *without_env, ik_foreground_fn on_end, void *data,
                          ik_foreground_t **out)
{
    ik_foreground_t *foreground = ik_new(ctx, ik_foreground_t);
    foreground->on_end = on_end;
    foreground->data = data;
    ignore_keys(foreground);
    res_t started = spawn(foreground, argv, without_env);
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

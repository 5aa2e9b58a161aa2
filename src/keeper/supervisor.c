#include "keeper/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "base/array.h"
#include "keeper/restriction.h"

enum {
    NONE = -1, /* no such argument */
    CALL_FCHMODAT2 = 452,
    STACK_SIZE = 128 * 1024,
    FD_PATH_MAX = 64,
};

typedef enum {
    MODE,
    OWNER,
    UTIMBUF,
    TIMEVALS,
    TIMESPECS,
    SET_ATTRIBUTE,
    REMOVE_ATTRIBUTE
} change_t;

/* A system call: which of its arguments is which. Without a path, folder is the file itself. */
typedef struct {
    int number;
    change_t change;
    int folder;
    int path;
    int flags;
    int first; /* of the arguments that describe the change */
    bool nofollow;
} call_t;

static const call_t known[] = {
#ifdef SYS_chmod
    {SYS_chmod, MODE, NONE, 0, NONE, 1, false},
    {SYS_chown, OWNER, NONE, 0, NONE, 1, false},
    {SYS_lchown, OWNER, NONE, 0, NONE, 1, true},
    {SYS_utime, UTIMBUF, NONE, 0, NONE, 1, false},
    {SYS_utimes, TIMEVALS, NONE, 0, NONE, 1, false},
    {SYS_futimesat, TIMEVALS, 0, 1, NONE, 2, false},
#endif
    {SYS_fchmod, MODE, 0, NONE, NONE, 1, false},
    {SYS_fchmodat, MODE, 0, 1, NONE, 2, false},
    {CALL_FCHMODAT2, MODE, 0, 1, 3, 2, false},
    {SYS_fchown, OWNER, 0, NONE, NONE, 1, false},
    {SYS_fchownat, OWNER, 0, 1, 4, 2, false},
    {SYS_utimensat, TIMESPECS, 0, 1, 3, 2, false},
    {SYS_setxattr, SET_ATTRIBUTE, NONE, 0, NONE, 1, false},
    {SYS_lsetxattr, SET_ATTRIBUTE, NONE, 0, NONE, 1, true},
    {SYS_fsetxattr, SET_ATTRIBUTE, 0, NONE, NONE, 1, false},
    {SYS_removexattr, REMOVE_ATTRIBUTE, NONE, 0, NONE, 1, false},
    {SYS_lremovexattr, REMOVE_ATTRIBUTE, NONE, 0, NONE, 1, true},
    {SYS_fremovexattr, REMOVE_ATTRIBUTE, 0, NONE, NONE, 1, false},
};

static const char *const *places;
static size_t place_count;
static int listener = -1;

/* --- the caller -------------------------------------------------------------------------- */

static bool read_memory(pid_t pid, uint64_t address, void *to, size_t len)
{
    struct iovec local = {.iov_base = to, .iov_len = len};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = len};
    return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)len;
}

/* Reads a string page by page, because the page after its end may not exist. Returns errno. */
static int read_string(pid_t pid, uint64_t address, char *to, size_t size, int too_long)
{
    const uint64_t page = 4096;
    for (size_t len = 0; len < size;) {
        size_t part = (size_t)(page - (address + len) % page);
        part = part < size - len ? part : size - len;
        if (!read_memory(pid, address + len, to + len, part)) {
            return EFAULT;
        }
        if (memchr(to + len, '\0', part) != NULL) {
            return 0;
        }
        len += part;
    }
    return too_long;
}

/* /proc/self is the caller's. */
static void translate_self(pid_t pid, char path[PATH_MAX])
{
    static const char *const names[] = {"/proc/self/", "/proc/thread-self/", "/dev/fd/"};
    for (size_t i = 0; i < IK_LENGTH(names); i++) {
        size_t len = strlen(names[i]);
        char other[PATH_MAX + FD_PATH_MAX];
        if (strncmp(path, names[i], len) == 0 &&
            (size_t)snprintf(other, sizeof(other), "/proc/%d/%s%s", (int)pid,
                             names[i][1] == 'd' ? "fd/" : "", path + len) < PATH_MAX) {
            memcpy(path, other, strlen(other) + 1);
            return;
        }
    }
}

/* A descriptor of the caller's, or its working folder. */
static int open_folder(pid_t pid, int fd)
{
    char path[FD_PATH_MAX];
    if (fd == AT_FDCWD) {
        snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
    } else {
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
    }
    int opened = open(path, O_PATH | O_CLOEXEC);
    if (opened < 0 && errno == ENOENT) {
        errno = EBADF;
    }
    return opened;
}

/* The file that the call means; -1 with errno. */
static int open_file(const struct seccomp_notif *request, const call_t *call)
{
    pid_t pid = (pid_t)request->pid;
    int folder = call->folder == NONE ? AT_FDCWD : (int)request->data.args[call->folder];
    int flags = call->flags == NONE ? 0 : (int)request->data.args[call->flags];
    bool nofollow = call->nofollow || (flags & AT_SYMLINK_NOFOLLOW) != 0;
    if (call->path == NONE || (request->data.args[call->path] == 0 &&
                               (call->change == TIMESPECS || call->change == TIMEVALS))) {
        return open_folder(pid, folder);
    }
    char path[PATH_MAX];
    errno = read_string(pid, request->data.args[call->path], path, sizeof(path), ENAMETOOLONG);
    if (errno != 0) {
        return -1;
    }
    if (path[0] == '\0' && (flags & AT_EMPTY_PATH) != 0) {
        return open_folder(pid, folder);
    }
    translate_self(pid, path);
    int base = path[0] == '/' ? AT_FDCWD : open_folder(pid, folder);
    if (base < 0 && base != AT_FDCWD) {
        return -1;
    }
    int file = openat(base, path, O_PATH | O_CLOEXEC | (nofollow ? O_NOFOLLOW : 0));
    int error = errno;
    if (base >= 0) {
        close(base);
    }
    errno = error;
    return file;
}

/* --- changes ----------------------------------------------------------------------------- */

static bool may_change(const char *fd_path)
{
    char path[PATH_MAX];
    ssize_t len = readlink(fd_path, path, sizeof(path) - 1);
    if (len <= 0 || len >= (ssize_t)sizeof(path) - 1) {
        return false;
    }
    path[len] = '\0';
    for (size_t i = 0; i < place_count; i++) {
        size_t place = strlen(places[i]);
        if (place == 1 ||
            (strncmp(path, places[i], place) == 0 && (path[place] == '/' || path[place] == '\0'))) {
            return true;
        }
    }
    return false;
}

/* Returns errno. */
static int change_times(const struct seccomp_notif *request, const call_t *call, int file)
{
    pid_t pid = (pid_t)request->pid;
    uint64_t address = request->data.args[call->first];
    struct timespec times[2];
    struct timeval parts[2];
    struct utimbuf seconds;
    if (address == 0) {
        return utimensat(file, "", NULL, AT_EMPTY_PATH) < 0 ? errno : 0;
    }
    if (call->change == TIMESPECS) {
        if (!read_memory(pid, address, times, sizeof(times))) {
            return EFAULT;
        }
    } else if (call->change == TIMEVALS) {
        if (!read_memory(pid, address, parts, sizeof(parts))) {
            return EFAULT;
        }
        for (size_t i = 0; i < 2; i++) {
            if (parts[i].tv_usec < 0 || parts[i].tv_usec >= 1000000) {
                return EINVAL;
            }
            times[i] =
                (struct timespec){.tv_sec = parts[i].tv_sec, .tv_nsec = parts[i].tv_usec * 1000};
        }
    } else {
        if (!read_memory(pid, address, &seconds, sizeof(seconds))) {
            return EFAULT;
        }
        times[0] = (struct timespec){.tv_sec = seconds.actime};
        times[1] = (struct timespec){.tv_sec = seconds.modtime};
    }
    return utimensat(file, "", times, AT_EMPTY_PATH) < 0 ? errno : 0;
}

/* Returns errno. */
static int change_attribute(const struct seccomp_notif *request, const call_t *call,
                            const char *fd_path)
{
    static char value[XATTR_SIZE_MAX];
    char name[XATTR_NAME_MAX + 1];
    pid_t pid = (pid_t)request->pid;
    const uint64_t *arguments = (const uint64_t *)request->data.args + call->first;
    int error = read_string(pid, arguments[0], name, sizeof(name), ERANGE);
    if (error != 0) {
        return error;
    }
    if (call->change == REMOVE_ATTRIBUTE) {
        return removexattr(fd_path, name) < 0 ? errno : 0;
    }
    if (arguments[2] > sizeof(value)) {
        return E2BIG;
    }
    if (arguments[2] > 0 && !read_memory(pid, arguments[1], value, (size_t)arguments[2])) {
        return EFAULT;
    }
    return setxattr(fd_path, name, value, (size_t)arguments[2], (int)arguments[3]) < 0 ? errno : 0;
}

/* Makes the change; returns errno. */
static int change_file(const struct seccomp_notif *request, const call_t *call, int file)
{
    char fd_path[FD_PATH_MAX];
    struct stat status;
    snprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", file);
    if (!may_change(fd_path) || fstat(file, &status) < 0) {
        return EPERM;
    }
    /* The caller may be gone by now, and its number belong to another process. */
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &request->id) < 0) {
        return ESRCH;
    }
    const uint64_t *arguments = (const uint64_t *)request->data.args + call->first;
    bool is_link = S_ISLNK(status.st_mode); /* the path below would mean what it points to */
    switch (call->change) {
    case MODE:
        return is_link ? EOPNOTSUPP : chmod(fd_path, (mode_t)arguments[0]) < 0 ? errno : 0;
    case OWNER:
        return fchownat(file, "", (uid_t)arguments[0], (gid_t)arguments[1], AT_EMPTY_PATH) < 0
                   ? errno
                   : 0;
    case UTIMBUF:
    case TIMEVALS:
    case TIMESPECS:
        return change_times(request, call, file);
    case SET_ATTRIBUTE:
    case REMOVE_ATTRIBUTE:
        return is_link ? EPERM : change_attribute(request, call, fd_path);
    }
    return EPERM;
}

/* Returns errno. */
static int serve(const struct seccomp_notif *request)
{
    const call_t *call = NULL;
    for (size_t i = 0; i < IK_LENGTH(known); i++) {
        call = known[i].number == request->data.nr ? &known[i] : call;
    }
    int file = call == NULL ? -1 : open_file(request, call);
    if (file < 0) {
        return call == NULL ? EPERM : errno;
    }
    int error = change_file(request, call, file);
    close(file);
    return error;
}

/* --- the thread -------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t started = PTHREAD_COND_INITIALIZER;

static void *supervise(void *data)
{
    (void)data;
    pthread_mutex_lock(&lock);
    while (listener < 0) {
        pthread_cond_wait(&started, &lock);
    }
    pthread_mutex_unlock(&lock);
    for (;;) {
        struct seccomp_notif request = {0};
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0) {
            continue; /* the caller was killed before we looked */
        }
        struct seccomp_notif_resp response = {.id = request.id, .error = -serve(&request)};
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
    }
    return NULL;
}

int ik_supervisor_start(const char *const *writable, size_t count)
{
    places = writable;
    place_count = count;
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, &attributes, supervise, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error != 0) {
        return error;
    }
    /* The thread exists already, so the filter does not hold for it. */
    int fd = ik_restriction_listen();
    error = errno;
    pthread_mutex_lock(&lock);
    listener = fd;
    pthread_cond_signal(&started);
    pthread_mutex_unlock(&lock);
    return fd < 0 ? error : 0;
}

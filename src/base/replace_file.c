/*
 * The order of the steps is what matters in this file.
 *
 * A new file is written without a name (O_TMPFILE), synced, and linked to its name; dying before
 * the link leaves nothing behind. Replacing a file needs a rename and therefore a temporary name
 * for an instant; the guard process removes that name if we die in that instant. On filesystems
 * without O_TMPFILE the temporary file has a name from the start and is guarded from then on.
 *
 * Functions return 0 or an errno value. ESTALE means that the file changed since it was read, as it
 * does on network filesystems.
 */
#include "base/replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/unlink_guard.h"

enum {
    MAX_ATTEMPTS = 4,         /* an attempt fails when another program changes the folder */
    MAX_LINKS = 40,           /* the kernel's own limit */
    READER_TIMEOUT_MS = 5000, /* how long a full pipe may stay full */
};

static const char NOT_SYNCED[] =
    "The folder could not be synced: the change may not survive a power failure";

/* The place a path leads to: an open folder and a name in it, which need not exist. For a symlink
 * it is the place of the target. An open folder stays the same one even when another program
 * renames it. */
typedef struct {
    int folder; /* O_PATH: only for the *at calls */
    char name[NAME_MAX + 1];
} place_t;

typedef struct {
    const char *path;
    const char *bytes;
    size_t len;
    ik_replace_options_t options;
    bool opened;       /* a file was opened for writing: later errors are write errors */
    bool without_name; /* the temporary file has no name until it is complete */
    const char *note;

    struct stat old;
    place_t place;
    int temp;
    char temp_name[64]; /* empty while the temporary file has no name */
    ik_unlink_guard_t guard;
} job_t;

static int errno_unless(bool worked)
{
    return worked ? 0 : errno;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool unchanged(const struct stat *a, const struct stat *b)
{
    return same_file(a, b) && a->st_size == b->st_size && same_time(a->st_mtim, b->st_mtim) &&
           same_time(a->st_ctim, b->st_ctim);
}

static int sync_file(int fd)
{
    bool synced = fsync(fd) == 0 || errno == EINVAL; /* EINVAL: it cannot be synced, as a pipe */
    return errno_unless(synced);
}

/* --- places ------------------------------------------------------------------------------- */

static void close_place(place_t *place)
{
    if (place->folder >= 0) {
        close(place->folder);
    }
    place->folder = AT_FDCWD;
}

/* Opens the folder part of path, relative to the place's folder, and stores the rest as the name.
 * Modifies path. */
static bool enter(place_t *place, char *path)
{
    char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    size_t len = strlen(name);
    if (len == 0 || len > NAME_MAX) {
        errno = len > 0 ? ENAMETOOLONG : *path == '\0' ? ENOENT : EISDIR;
        return false;
    }
    memcpy(place->name, name, len + 1);
    const char *folder = slash == NULL ? "." : slash == path ? "/" : path;
    if (slash != NULL && slash != path) {
        *slash = '\0';
    }
    int entered = openat(place->folder, folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (entered < 0) {
        return false;
    }
    close_place(place);
    place->folder = entered;
    return true;
}

static bool find_place(place_t *place, const char *path, bool follow)
{
    char target[PATH_MAX];
    size_t len = strlen(path);
    if (len >= sizeof(target)) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(target, path, len + 1);
    place->folder = AT_FDCWD;
    for (int links = 0; links <= MAX_LINKS; links++) {
        if (!enter(place, target)) {
            break;
        }
        if (!follow) {
            return true;
        }
        ssize_t got = readlinkat(place->folder, place->name, target, sizeof(target) - 1);
        if (got < 0 && (errno == EINVAL || errno == ENOENT)) {
            return true; /* not a link, or it does not exist yet */
        }
        if (got < 0) {
            break;
        }
        target[got] = '\0';
        errno = ELOOP;
    }
    int error = errno;
    close_place(place);
    errno = error;
    return false;
}

/* --- identity ------------------------------------------------------------------------------ */

/* The kernel's limits for the list of names and for one value. */
enum { ATTRIBUTE_LIST_MAX = 65536, ATTRIBUTE_MAX = 65536 };

static bool lists(const char *list, size_t len, const char *name)
{
    for (size_t at = 0; at < len; at += strlen(list + at) + 1) {
        if (strcmp(list + at, name) == 0) {
            return true;
        }
    }
    return false;
}

static int copy_attribute(int fd, const char *path, const char *name)
{
    static char value[ATTRIBUTE_MAX];
    static char present[ATTRIBUTE_MAX];
    ssize_t len = getxattr(path, name, value, sizeof(value));
    if (len < 0) {
        return errno;
    }
    if (fsetxattr(fd, name, value, (size_t)len, 0) == 0) {
        return 0;
    }
    int error = errno;
    /* A security label often cannot be set but has the right value already. */
    ssize_t got = fgetxattr(fd, name, present, sizeof(present));
    return got >= 0 && got == len && memcmp(present, value, (size_t)len) == 0 ? 0 : error;
}

/* A new file may have attributes of its own, such as an ACL inherited from its folder. */
static int remove_others(int fd, const char *wanted, size_t wanted_len)
{
    static char list[ATTRIBUTE_LIST_MAX];
    ssize_t len = flistxattr(fd, list, sizeof(list));
    if (len < 0) {
        return errno == EOPNOTSUPP ? 0 : errno;
    }
    for (size_t at = 0; at < (size_t)len; at += strlen(list + at) + 1) {
        const char *name = list + at;
        bool label = strncmp(name, "security.", strlen("security.")) == 0;
        if (!lists(wanted, wanted_len, name) && fremovexattr(fd, name) < 0 && !label) {
            return errno;
        }
    }
    return 0;
}

static int copy_attributes(int fd, const char *path)
{
    static char list[ATTRIBUTE_LIST_MAX];
    ssize_t len = listxattr(path, list, sizeof(list));
    if (len < 0 && errno != EOPNOTSUPP) {
        return errno;
    }
    size_t list_len = len < 0 ? 0 : (size_t)len;
    for (size_t at = 0; at < list_len; at += strlen(list + at) + 1) {
        int error = copy_attribute(fd, path, list + at);
        if (error != 0) {
            return error;
        }
    }
    return remove_others(fd, list, list_len);
}

/* Copies owner, group, extended attributes (which include POSIX ACLs) and mode, in this order: a
 * change of owner clears set-id bits and capabilities, and setting an ACL changes the mode. */
static int copy_identity(int fd, const char *path, const struct stat *status)
{
    struct stat fresh;
    if (fstat(fd, &fresh) < 0) {
        return errno;
    }
    bool same_owner = fresh.st_uid == status->st_uid && fresh.st_gid == status->st_gid;
    if (!same_owner && fchown(fd, status->st_uid, status->st_gid) < 0) {
        return errno;
    }
    int error = copy_attributes(fd, path);
    if (error != 0) {
        return error;
    }
    return fchmod(fd, status->st_mode & 07777) < 0 ? errno : 0;
}

/* --- the temporary file ------------------------------------------------------------------ */

static int choose_temp_name(job_t *job)
{
    uint64_t random;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random)) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        random = (uint64_t)now.tv_nsec;
    }
    snprintf(job->temp_name, sizeof(job->temp_name), ".ikigai-%d-%016" PRIx64, (int)getpid(),
             random);
    bool guarded = job->options.private || job->options.unguarded ||
                   ik_unlink_guard_start(&job->guard, job->place.folder, job->temp_name);
    return errno_unless(guarded);
}

static int open_named_temp(job_t *job, mode_t mode)
{
    int error = choose_temp_name(job);
    if (error != 0) {
        return error;
    }
    job->temp = openat(job->place.folder, job->temp_name,
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    return errno_unless(job->temp >= 0);
}

static int open_temp(job_t *job, mode_t mode)
{
    if (!job->without_name) {
        return open_named_temp(job, mode);
    }
    job->temp = openat(job->place.folder, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
    if (job->temp >= 0) {
        return 0;
    }
    /* The errors by which kernels and filesystems report that they lack O_TMPFILE. */
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL) {
        return errno;
    }
    job->without_name = false;
    return open_named_temp(job, mode);
}

/* Gives the nameless temporary file a name. Linking by descriptor needs a privilege on older
 * kernels; linking through /proc does not. */
static int link_temp(const job_t *job, const char *name)
{
    if (linkat(job->temp, "", job->place.folder, name, AT_EMPTY_PATH) == 0) {
        return 0;
    }
    if (errno != ENOENT) {
        return errno;
    }
    char open_file[32];
    snprintf(open_file, sizeof(open_file), "/proc/self/fd/%d", job->temp);
    return errno_unless(linkat(AT_FDCWD, open_file, job->place.folder, name, AT_SYMLINK_FOLLOW) ==
                        0);
}

static int fill_temp(job_t *job, bool replacing)
{
    job->opened = true;
    if (!ik_file_write_all(job->temp, job->bytes, job->len)) {
        return errno;
    }
    int error = 0;
    if (job->options.private) {
        error = errno_unless(fchmod(job->temp, 0600) == 0); /* whatever the umask is */
    } else if (replacing) {
        error = copy_identity(job->temp, job->path, &job->old);
    }
    return error != 0 || job->options.fast ? error : sync_file(job->temp);
}

/* The name must be gone before the guard is stopped. */
static void drop_temp(job_t *job, bool still_named)
{
    if (job->temp >= 0) {
        close(job->temp);
        job->temp = -1;
    }
    if (job->temp_name[0] != '\0' && still_named) {
        unlinkat(job->place.folder, job->temp_name, 0);
    }
    ik_unlink_guard_stop(&job->guard);
    job->temp_name[0] = '\0';
}

/* Makes the rename survive a crash of the machine. A failure is only noted: the new file is in
 * place already. */
static void sync_folder(job_t *job)
{
    if (job->options.fast || job->options.folder_later) {
        return;
    }
    int folder = openat(job->place.folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || sync_file(folder) != 0) {
        job->note = NOT_SYNCED;
    }
    if (folder >= 0) {
        close(folder);
    }
}

/* --- new files ---------------------------------------------------------------------------- */

static int give_final_name(job_t *job)
{
    if (job->without_name) {
        return link_temp(job, job->place.name);
    }
    int folder = job->place.folder;
    if (renameat2(folder, job->temp_name, folder, job->place.name, RENAME_NOREPLACE) == 0) {
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS) {
        return errno;
    }
    return errno_unless(renameat(folder, job->temp_name, folder, job->place.name) == 0);
}

static int make_new(job_t *job)
{
    int error = open_temp(job, 0666);
    if (error == 0) {
        error = fill_temp(job, false);
    }
    if (error == 0) {
        error = give_final_name(job);
    }
    drop_temp(job, error != 0);
    return error;
}

static int create_file(job_t *job)
{
    if (!find_place(&job->place, job->path, true)) {
        return errno;
    }
    int error = make_new(job);
    if (error == ENOENT && job->without_name && job->opened) {
        /* Neither way of linking works (no /proc): use a named temporary file. */
        job->without_name = false;
        error = make_new(job);
    }
    if (error == 0) {
        sync_folder(job);
    }
    close_place(&job->place);
    return error;
}

/* --- existing files ----------------------------------------------------------------------- */

/* The last check before the rename; a change can only be missed between these two system calls. */
static int check_unchanged(const job_t *job)
{
    struct stat now;
    if (job->options.expected == NULL) {
        return 0;
    }
    if (fstatat(job->place.folder, job->place.name, &now, AT_SYMLINK_NOFOLLOW) < 0) {
        return errno == ENOENT ? ESTALE : errno;
    }
    return unchanged(job->options.expected, &now) ? 0 : ESTALE;
}

static int rename_over(job_t *job)
{
    int error = open_temp(job, 0600);
    if (error == 0) {
        error = fill_temp(job, true);
    }
    if (error == 0 && job->without_name) {
        error = choose_temp_name(job);
        error = error != 0 ? error : link_temp(job, job->temp_name);
    }
    if (error == 0) {
        error = check_unchanged(job);
    }
    if (error == 0) {
        int folder = job->place.folder;
        error = errno_unless(renameat(folder, job->temp_name, folder, job->place.name) == 0);
    }
    drop_temp(job, error != 0);
    return error;
}

/* Reserves space for the new content before a byte of the old one is touched. RLIMIT_FSIZE is
 * checked here because fallocate does not enforce it. */
static int reserve_space(int fd, const job_t *job)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && job->len > limit.rlim_cur) {
        return EFBIG;
    }
    if (job->len == 0 || fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)job->len) == 0) {
        return 0;
    }
    int error = errno;
    if (error == EOPNOTSUPP || error == ENODEV || error == ENOSYS) {
        return 0;
    }
    /* Releases the space reserved beyond the end; the size does not change. */
    int ignored __attribute__((unused)) = ftruncate(fd, job->old.st_size);
    return error;
}

static int write_at_start(int fd, const job_t *job)
{
    size_t done = 0;
    while (done < job->len) {
        ssize_t wrote = pwrite(fd, job->bytes + done, job->len - done, (off_t)done);
        if (wrote < 0 && errno != EINTR) {
            return errno;
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return 0;
}

static int overwrite(int fd, const job_t *job)
{
    struct stat now;
    if (fstat(fd, &now) < 0) {
        return errno;
    }
    const struct stat *expected = job->options.expected;
    if (!same_file(&job->old, &now) || (expected != NULL && !unchanged(expected, &now))) {
        return ESTALE;
    }
    int error = reserve_space(fd, job);
    if (error == 0) {
        error = write_at_start(fd, job);
    }
    if (error == 0 && (off_t)job->len < now.st_size) {
        error = errno_unless(ftruncate(fd, (off_t)job->len) == 0);
    }
    if (error == 0) {
        error = sync_file(fd);
    }
    if (error == 0 && (now.st_mode & (S_ISUID | S_ISGID)) != 0) {
        /* Writing cleared the set-id bits. Only the owner may restore them (EPERM otherwise). */
        error = fchmod(fd, now.st_mode & 07777) == 0 || errno == EPERM ? 0 : errno;
    }
    return error;
}

static int write_in_place(job_t *job)
{
    int fd = open(job->path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        job->opened = false;
        return errno;
    }
    job->opened = true;
    int error = overwrite(fd, job);
    if (close(fd) < 0 && error == 0) {
        error = errno;
    }
    return error;
}

/* Errors after which writing in place may still work. */
static bool rename_is_refused(int error)
{
    switch (error) {
    case EPERM:  /* sticky folder; owner or attribute that we may not set */
    case EACCES: /* folder not writable */
    case EROFS:  /* a writable file mounted over a read-only folder */
    case EBUSY:  /* mount point */
    case EXDEV:
    case EOPNOTSUPP:
    case EINVAL: /* an owner without an id in this user namespace */
    case ENOSYS:
    case ENOENT: /* /proc and similar, where no file can be created */
        return true;
    default:
        return false;
    }
}

static int replace_existing(job_t *job)
{
    bool in_place = !job->options.separate; /* may be */
    bool read_only = (job->old.st_mode & 0222) == 0;
    if (in_place && (read_only || faccessat(AT_FDCWD, job->path, W_OK, AT_EACCESS) < 0)) {
        return read_only ? EACCES : errno;
    }
    if (job->options.expected != NULL && !unchanged(job->options.expected, &job->old)) {
        return ESTALE;
    }
    if (in_place && job->old.st_nlink > 1) {
        return write_in_place(job);
    }
    if (!find_place(&job->place, job->path, true)) {
        return in_place ? write_in_place(job) : errno;
    }
    /* A link in /proc/PID/fd leads to a file that its text may not name. */
    struct stat found;
    int flags = AT_SYMLINK_NOFOLLOW;
    bool nameable = fstatat(job->place.folder, job->place.name, &found, flags) == 0 &&
                    same_file(&job->old, &found);
    int error = nameable ? rename_over(job) : EXDEV;
    if (error == 0) {
        sync_folder(job);
    }
    close_place(&job->place);
    return in_place && rename_is_refused(error) ? write_in_place(job) : error;
}

/* --- pipes, devices ----------------------------------------------------------------------- */

static int write_waiting(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t wrote = write(fd, bytes, len);
        if (wrote >= 0) {
            bytes += wrote;
            len -= (size_t)wrote;
        } else if (errno == EAGAIN) {
            struct pollfd room = {.fd = fd, .events = POLLOUT};
            if (poll(&room, 1, READER_TIMEOUT_MS) == 0) {
                return ETIMEDOUT;
            }
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

static int write_special(job_t *job)
{
    int fd = open(job->path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    job->opened = true;
    int error = write_waiting(fd, job->bytes, job->len);
    if (error == 0 && S_ISBLK(job->old.st_mode)) {
        error = sync_file(fd);
    }
    close(fd);
    return error;
}

/* --- private files ------------------------------------------------------------------------ */

/* Replaces whatever is there, even a symlink. */
static int replace_private(job_t *job)
{
    if (!find_place(&job->place, job->path, false)) {
        return errno;
    }
    int error = rename_over(job);
    if (error == ENOENT && job->without_name && job->opened) {
        job->without_name = false; /* neither way of linking works (no /proc) */
        error = rename_over(job);
    }
    if (error == 0) {
        sync_folder(job);
    }
    close_place(&job->place);
    return error;
}

/* --- the interface ------------------------------------------------------------------------ */

static int attempt(job_t *job)
{
    if (job->options.private) {
        return replace_private(job);
    }
    if (stat(job->path, &job->old) < 0) {
        if (errno != ENOENT) {
            return errno;
        }
        return job->options.expected != NULL ? ESTALE : create_file(job);
    }
    if (S_ISDIR(job->old.st_mode)) {
        return EISDIR;
    }
    return S_ISREG(job->old.st_mode) ? replace_existing(job) : write_special(job);
}

ik_replaced_t ik_replace_file(const char *path, const char *bytes, size_t len,
                              const ik_replace_options_t *options)
{
    signal(SIGXFSZ, SIG_IGN); /* makes writing beyond RLIMIT_FSIZE an ordinary error */
    job_t job = {
        .path = path,
        .bytes = bytes,
        .len = len,
        .options = *options,
        .without_name = true,
        .temp = -1,
    };
    int error = EEXIST;
    for (int i = 0; i < MAX_ATTEMPTS && error == EEXIST; i++) {
        job.opened = false;
        error = attempt(&job);
    }
    return (ik_replaced_t){.error = error, .opened = job.opened, .note = job.note};
}

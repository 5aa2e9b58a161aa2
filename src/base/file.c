#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/replace_file.h"

enum { SETTLED_SECONDS = 2 };

static res_t system_error(const char *verb, const char *path, int error)
{
    ik_error_code_t code = IK_ERR_SYSTEM;
    if (error == ENOENT || error == ENOTDIR) {
        code = IK_ERR_NOT_FOUND;
    } else if (error == EACCES || error == EPERM) {
        code = IK_ERR_DENIED;
    }
    return ik_error_make(code, "cannot %s %s: %s", verb, path, strerror(error));
}

/* --- reading ----------------------------------------------------------------------------- */

static res_t read_all(int fd, const char *path, size_t max, ik_buffer_t *buffer)
{
    for (;;) {
        size_t room = ik_buffer_reserve(buffer, 1);
        ssize_t n = read(fd, buffer->data + buffer->len, room);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return system_error("read", path, errno);
        }
        if (n == 0) {
            break;
        }
        buffer->len += (size_t)n;
        if (buffer->len > max) {
            return ERR(LIMIT, "%s is larger than %zu bytes", path, max);
        }
    }
    buffer->data[buffer->len] = '\0';
    return OK;
}

static res_t read_regular(int fd, const char *path, size_t max, ik_buffer_t *buffer)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return system_error("read", path, errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return ERR(INVALID, "%s is not a regular file", path);
    }
    if (status.st_size > 0 && (size_t)status.st_size > max) {
        return ERR(LIMIT, "%s is larger than %zu bytes", path, max);
    }
    /* One byte more for the read that finds the end; files in /proc report no size. */
    ik_buffer_reserve(buffer, status.st_size > 0 ? (size_t)status.st_size + 1 : 4096);
    return read_all(fd, path, max, buffer);
}

res_t ik_file_read(const void *ctx, const char *path, size_t max, char **bytes, size_t *len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return system_error("open", path, errno);
    }
    ik_buffer_t buffer;
    ik_buffer_init(&buffer, ctx, max + 1);
    res_t result = read_regular(fd, path, max, &buffer);
    close(fd);
    if (is_err(&result)) {
        ik_buffer_reset(&buffer);
        return result;
    }
    *len = buffer.len;
    *bytes = ik_buffer_finish(&buffer);
    return OK;
}

/* --- writing ----------------------------------------------------------------------------- */

bool ik_file_write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return false;
        }
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

static res_t write_private(const char *path, const char *bytes, size_t len, bool fast)
{
    ik_replace_options_t options = {.private = true, .fast = fast};
    int error = ik_replace_file(path, bytes, len, &options).error;
    return error == 0 ? OK : system_error("write", path, error);
}

res_t ik_file_write_private(const char *path, const char *bytes, size_t len)
{
    return write_private(path, bytes, len, false);
}

res_t ik_file_write_private_fast(const char *path, const char *bytes, size_t len)
{
    return write_private(path, bytes, len, true);
}

/* --- folders ----------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static res_t make_one(const char *path)
{
    if (mkdir(path, 0700) == 0) {
        /* The umask may have removed permissions that we need. */
        return chmod(path, 0700) == 0 ? OK : system_error("make folder", path, errno);
    }
    int error = errno;
    if (is_folder(path)) {
        return OK;
    }
    return error == EEXIST
               ? ERR(SYSTEM, "cannot make folder %s: it exists and is not a folder", path)
               : system_error("make folder", path, error);
}

res_t ik_file_make_private_folder(const char *path)
{
    if (is_folder(path)) {
        return OK;
    }
    char *partial = ik_strdup(NULL, path);
    res_t result = OK;
    for (char *p = partial + 1; is_ok(&result) && p[-1] != '\0'; p++) {
        /* Cut at each slash that ends a component, and at the end. */
        if ((*p == '/' && p[-1] != '/') || (*p == '\0' && p[-1] != '/')) {
            char saved = *p;
            *p = '\0';
            result = make_one(partial);
            *p = saved;
        }
    }
    talloc_free(partial);
    return result;
}

char *ik_file_folder(const void *ctx, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return ik_strdup(ctx, ".");
    }
    return ik_strndup(ctx, path, slash == path ? 1 : (size_t)(slash - path));
}

char *ik_file_join(const void *ctx, const char *folder, const char *name)
{
    size_t len = strlen(folder);
    const char *slash = len == 0 || folder[len - 1] == '/' ? "" : "/";
    return ik_sprintf(ctx, "%s%s%s", folder, slash, name);
}

int ik_file_lock_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int locked = -1;
    while (fd >= 0 && (locked = flock(fd, LOCK_EX)) != 0 && errno == EINTR) {
    }
    if (fd >= 0 && locked != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

bool ik_file_is_within(const char *path, const char *folder)
{
    size_t len = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

void ik_file_remove_tree(int parent, const char *name)
{
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) {
        return;
    }
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == EACCES) {
        fchmodat(parent, name, 0700, 0);
        fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    if (fd < 0) {
        return;
    }
    fchmod(fd, 0700);
    DIR *entries = fdopendir(fd);
    struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            ik_file_remove_tree(fd, entry->d_name);
        }
    }
    if (entries != NULL) {
        closedir(entries);
    } else {
        close(fd);
    }
    unlinkat(parent, name, AT_REMOVEDIR);
}

char *ik_file_format_identity(const void *ctx, const struct stat *status)
{
    return ik_sprintf(ctx, "%llu:%llu:%lld:%lld.%09ld:%lld.%09ld",
                      (unsigned long long)status->st_dev, (unsigned long long)status->st_ino,
                      (long long)status->st_size, (long long)status->st_mtim.tv_sec,
                      status->st_mtim.tv_nsec, (long long)status->st_ctim.tv_sec,
                      status->st_ctim.tv_nsec);
}

bool ik_file_is_settled(struct timespec changed)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    time_t seconds = now.tv_sec - changed.tv_sec;
    return seconds > SETTLED_SECONDS ||
           (seconds == SETTLED_SECONDS && now.tv_nsec >= changed.tv_nsec);
}

int ik_file_open_anonymous(const char *name, bool close_on_exec)
{
    int fd = memfd_create(name, close_on_exec ? MFD_CLOEXEC : 0);
    if (fd >= 0) {
        return fd;
    }
    char path[] = "/tmp/ikigai-XXXXXX";
    fd = mkostemp(path, close_on_exec ? O_CLOEXEC : 0);
    if (fd >= 0) {
        unlink(path);
    }
    return fd;
}

#include "checkpoint/safe_open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"

/* For kernels before 5.6. */
static int open_by_component(int root, const char *path, int flags)
{
    char *copy = ik_strdup(NULL, path);
    int at = root;
    int fd = -1;
    for (char *name = copy; name != NULL;) {
        char *slash = strchr(name, '/');
        if (slash != NULL) {
            *slash = '\0';
        }
        fd = openat(at, name,
                    (slash == NULL ? flags : O_PATH | O_DIRECTORY) | O_NOFOLLOW | O_CLOEXEC);
        int error = errno;
        if (at != root) {
            close(at);
        }
        errno = error;
        at = fd;
        name = fd < 0 || slash == NULL ? NULL : slash + 1;
    }
    int error = errno;
    talloc_free(copy);
    errno = error;
    return fd;
}

int ik_safe_open(int root, const char *path, int flags)
{
    static bool missing;
    if (root < 0) {
        errno = ENOENT;
        return -1;
    }
    if (!missing) {
        struct open_how how = {
            .flags = (unsigned)flags | O_CLOEXEC | O_NOFOLLOW,
            .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH,
        };
        for (int attempt = 0; attempt < 8; attempt++) {
            long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
            /* EAGAIN: another process renamed something meanwhile. */
            if (fd >= 0 || (errno != EAGAIN && errno != ENOSYS && errno != EPERM)) {
                return (int)fd;
            }
            if (errno != EAGAIN) {
                missing = true;
                break;
            }
        }
    }
    return open_by_component(root, path, flags);
}

int ik_safe_open_parent(int root, const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    *name = slash == NULL ? path : slash + 1;
    if (slash == NULL) {
        return ik_safe_open(root, ".", O_PATH | O_DIRECTORY);
    }
    char *folder = ik_strndup(NULL, path, (size_t)(slash - path));
    int fd = ik_safe_open(root, folder, O_PATH | O_DIRECTORY);
    int error = errno;
    talloc_free(folder);
    errno = error;
    return fd;
}

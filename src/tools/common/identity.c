#include "tools/common/identity.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The kernel's own limits for the list of names and for one value. */
enum { LIST_MAX = 65536, VALUE_MAX = 65536 };

static bool lists(const char *list, size_t len, const char *name)
{
    for (size_t at = 0; at < len; at += strlen(list + at) + 1) {
        if (strcmp(list + at, name) == 0) {
            return true;
        }
    }
    return false;
}

/* A value that is there already needs no right to set it: security labels are often so. */
static bool has_value(int fd, const char *name, const char *value, size_t len)
{
    static char present[VALUE_MAX];
    ssize_t got = fgetxattr(fd, name, present, sizeof(present));
    return got >= 0 && (size_t)got == len && memcmp(present, value, len) == 0;
}

static int copy_attribute(int fd, const char *path, const char *name)
{
    static char value[VALUE_MAX];
    ssize_t len = getxattr(path, name, value, sizeof(value));
    if (len < 0) {
        return errno;
    }
    if (fsetxattr(fd, name, value, (size_t)len, 0) == 0) {
        return 0;
    }
    int error = errno;
    return has_value(fd, name, value, (size_t)len) ? 0 : error;
}

/* A new file may have got attributes of its own, such as the ACL its folder hands down. */
static int remove_others(int fd, const char *wanted, size_t wanted_len)
{
    static char list[LIST_MAX];
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
    static char list[LIST_MAX];
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

/* In this order: a change of owner clears set-id bits and capabilities, and setting an ACL changes
 * the mode. */
int ik_identity_copy(int fd, const char *path, const struct stat *status)
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

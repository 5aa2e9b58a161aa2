#include "tools/common/place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { MAX_LINKS = 40 }; /* as many as the kernel follows */

/* Goes from the place's folder into the folder part of path and notes the rest as the name. Writes
 * into path while it works. */
static bool enter(ik_place_t *place, char *path)
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
    ik_place_close(place);
    place->folder = entered;
    return true;
}

bool ik_place_find(ik_place_t *place, const char *path)
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
        ssize_t got = readlinkat(place->folder, place->name, target, sizeof(target) - 1);
        if (got < 0 && (errno == EINVAL || errno == ENOENT)) {
            return true; /* not a link, or nothing yet */
        }
        if (got < 0) {
            break;
        }
        target[got] = '\0';
        errno = ELOOP;
    }
    int error = errno;
    ik_place_close(place);
    errno = error;
    return false;
}

void ik_place_close(ik_place_t *place)
{
    if (place->folder >= 0) {
        close(place->folder);
    }
    place->folder = AT_FDCWD;
}

#include "confinement/room_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"

struct ik_room_store {
    char *rooms;      /* IKIGAI_HOME/rooms */
    char *session;    /* removed at the end; NULL: not made */
    int session_lock; /* -1: not locked, as below */
    int project_lock;
    const char **folders;
};

/* --- locking ----------------------------------------------------------------------------- */

/* Whether the name in that folder still means the open file. */
static bool is_at(int fd, int folder, const char *name)
{
    struct stat opened;
    struct stat found;
    return fstat(fd, &opened) == 0 && fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_dev == found.st_dev && opened.st_ino == found.st_ino;
}

/* Makes a folder and locks it; -1 when that fails, with EWOULDBLOCK if it is locked. */
static int lock_folder(const char *path)
{
    enum { TRIES_MAX = 20 };
    for (int i = 0; i < TRIES_MAX; i++) {
        res_t folder = ik_file_make_private_folder(path);
        errno = 0;
        int fd = is_err(&folder) ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
        /* Until it is locked, another process may sweep it away. */
        if (locked && is_at(fd, AT_FDCWD, path)) {
            return fd;
        }
        int error = errno;
        if (fd >= 0) {
            close(fd);
        }
        errno = error;
        if (fd >= 0 && !locked) {
            break;
        }
    }
    return -1;
}

/* Makes and locks a folder of this process that no other store of it has; NULL: that fails. */
static char *lock_session(const void *ctx, const char *rooms, int *lock)
{
    enum { STORES_MAX = 10000 }; /* in one process */
    for (int i = 1; i < STORES_MAX; i++) {
        char *folder = i == 1 ? ik_sprintf(ctx, "%s/session-%d", rooms, (int)getpid())
                              : ik_sprintf(ctx, "%s/session-%d-%d", rooms, (int)getpid(), i);
        *lock = lock_folder(folder);
        if (*lock >= 0) {
            return folder;
        }
        talloc_free(folder);
        if (errno != EWOULDBLOCK) {
            break;
        }
    }
    return NULL;
}

/* Removes the folders of sessions that ended without doing so. */
static void sweep(const char *rooms)
{
    DIR *entries = opendir(rooms);
    struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        if (strncmp(entry->d_name, "session-", strlen("session-")) != 0) {
            continue;
        }
        int fd = openat(dirfd(entries), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        /* Its owner may have removed it, and another one of the same name be in use. */
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
            is_at(fd, dirfd(entries), entry->d_name)) {
            ik_file_remove_tree(dirfd(entries), entry->d_name);
        }
        if (fd >= 0) {
            close(fd);
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
}

/* --- the store --------------------------------------------------------------------------- */

static int close_store(ik_room_store_t *store)
{
    if (store->session != NULL) {
        ik_file_remove_tree(AT_FDCWD, store->session);
    }
    close(store->session_lock);
    close(store->project_lock);
    return 0;
}

static bool make_store(const void *ctx, const char *folder, mode_t mode)
{
    char *upper = ik_sprintf(ctx, "%s/upper", folder);
    res_t made = ik_file_make_private_folder(upper);
    if (is_ok(&made)) {
        made = ik_file_make_private_folder(ik_sprintf(ctx, "%s/work", folder));
    }
    return is_ok(&made) && chmod(upper, mode) == 0;
}

ik_room_store_t *ik_room_store_create(const void *ctx, const char *rooms, const char *project,
                                      const char *const *copies)
{
    ik_room_store_t *store = ik_new(ctx, ik_room_store_t);
    store->rooms = ik_strdup(store, rooms);
    char *shared = ik_sprintf(store, "%s/project-%016llx", store->rooms,
                              (unsigned long long)ik_hash_bytes(project, strlen(project)));
    sweep(store->rooms);
    store->session = lock_session(store, store->rooms, &store->session_lock);
    store->project_lock = lock_folder(shared);
    talloc_set_destructor(store, close_store);
    size_t count = 0;
    while (copies[count] != NULL) {
        count++;
    }
    store->folders = ik_new_array(store, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        bool is_cache = i > 0;
        bool kept = is_cache && store->project_lock >= 0;
        const char *place = kept ? shared : store->session;
        char *folder =
            place == NULL
                ? NULL
                : ik_sprintf(store, "%s/%016llx", place,
                             (unsigned long long)ik_hash_bytes(copies[i], strlen(copies[i])));
        bool usable = folder != NULL && !ik_file_is_within(folder, copies[i]) &&
                      make_store(folder, folder, is_cache ? 0700 : 01777);
        store->folders[i] = usable ? folder : "";
    }
    return store;
}

const char *const *ik_room_store_folders(const ik_room_store_t *store)
{
    return store->folders;
}

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

/* Makes a folder and locks it; -1 when that fails or another program has locked it. */
static int lock_folder(const char *path)
{
    res_t folder = ik_file_make_private_folder(path);
    int fd = is_err(&folder) ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
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
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
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
    store->session = ik_sprintf(store, "%s/session-%d", store->rooms, (int)getpid());
    sweep(store->rooms);
    store->session_lock = lock_folder(store->session);
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
        char *folder = ik_sprintf(store, "%s/%016llx", kept ? shared : store->session,
                                  (unsigned long long)ik_hash_bytes(copies[i], strlen(copies[i])));
        bool usable = (kept || store->session_lock >= 0) && !ik_file_is_within(folder, copies[i]) &&
                      make_store(folder, folder, is_cache ? 0700 : 01777);
        store->folders[i] = usable ? folder : "";
    }
    return store;
}

const char *const *ik_room_store_folders(const ik_room_store_t *store)
{
    return store->folders;
}

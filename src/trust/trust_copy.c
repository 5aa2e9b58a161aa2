#include "trust/trust_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

/* How long a copy without a record may still be in use: by a run with --trust, or by an instance
 * that started before its project changed. */
enum { UNUSED_SECONDS = 7 * 24 * 60 * 60 };

static res_t make_parents(int copy_fd, const char *path)
{
    char *partial = ik_strdup(NULL, path);
    res_t result = OK;
    for (char *slash = strchr(partial, '/'); slash != NULL && is_ok(&result);
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdirat(copy_fd, partial, 0700) < 0 && errno != EEXIST) {
            result = ERR(SYSTEM, "Cannot make %s: %s", partial, strerror(errno));
        }
        *slash = '/';
    }
    talloc_free(partial);
    return result;
}

static res_t copy_file(int from_fd, int to_fd, const ik_trust_snapshot_file_t *file)
{
    TRY(make_parents(to_fd, file->path));
    if (file->target != NULL) {
        if (symlinkat(file->target, to_fd, file->path) < 0) {
            return ERR(SYSTEM, "Cannot copy %s: %s", file->path, strerror(errno));
        }
        return OK;
    }
    int fd = openat(to_fd, file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return ERR(SYSTEM, "Cannot copy %s: %s", file->path, strerror(errno));
    }
    char hex[IK_TRUST_SNAPSHOT_HASH_LENGTH + 1];
    res_t result = ik_trust_snapshot_hash_file(from_fd, file->path, fd, hex);
    if (is_ok(&result) && strcmp(hex, file->hash) != 0) {
        result = ERR(CONFLICT, "%s changed in the meantime; review again", file->path);
    }
    if (is_ok(&result) &&
        (fchmod(fd, (file->mode & 0111) != 0 ? 0500 : 0400) < 0 || fsync(fd) < 0)) {
        result = ERR(SYSTEM, "Cannot copy %s: %s", file->path, strerror(errno));
    }
    close(fd);
    return result;
}

/* Makes the folders read-only once all files are in place. */
static void lock_folders(int copy_fd, const ik_trust_snapshot_t *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        char *path = ik_strdup(NULL, snapshot->files[i].path);
        for (char *slash = strrchr(path, '/'); slash != NULL; slash = strrchr(path, '/')) {
            *slash = '\0';
            fchmodat(copy_fd, path, 0500, 0);
        }
        talloc_free(path);
    }
    fchmod(copy_fd, 0500);
}

static res_t copy_all(int from_fd, int to_fd, const char *building,
                      const ik_trust_snapshot_t *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        TRY(copy_file(from_fd, to_fd, &snapshot->files[i]));
    }
    for (size_t i = 0; i < snapshot->count; i++) {
        const ik_trust_snapshot_file_t *file = &snapshot->files[i];
        if (file->target != NULL &&
            !ik_trust_snapshot_ends_inside(building, file->path, file->target)) {
            return ERR(CONFLICT, "the symlink %s leads outside the folder", file->path);
        }
    }
    lock_folders(to_fd, snapshot);
    return OK;
}

/* Builds the copy under another name and renames it, so that a folder named by a hash is always
 * complete. */
static res_t build_copy(const char *store, const ik_trust_snapshot_t *snapshot, const char *copy)
{
    TRY(ik_file_make_private_folder(store));
    char *canonical = realpath(store, NULL);
    if (canonical == NULL) {
        return ERR(SYSTEM, "Cannot use %s: %s", store, strerror(errno));
    }
    char *building = ik_sprintf(NULL, "%s/building-%d", canonical, (int)getpid());
    free(canonical);
    ik_file_remove_tree(AT_FDCWD, building);
    const char *only;
    int from_fd = ik_trust_snapshot_open(snapshot->folder, &only);
    int to_fd = mkdir(building, 0700) < 0
                    ? -1
                    : open(building, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    res_t result = OK;
    if (from_fd < 0 || to_fd < 0) {
        result =
            ERR(SYSTEM, "Cannot copy %s to %s: %s", snapshot->folder, building, strerror(errno));
    } else {
        result = copy_all(from_fd, to_fd, building, snapshot);
    }
    if (is_ok(&result) && rename(building, copy) < 0 && errno != EEXIST && errno != ENOTEMPTY) {
        result = ERR(SYSTEM, "Cannot make %s: %s", copy, strerror(errno));
    }
    ik_file_remove_tree(AT_FDCWD, building);
    if (from_fd >= 0) {
        close(from_fd);
    }
    if (to_fd >= 0) {
        close(to_fd);
    }
    talloc_free(building);
    return result;
}

res_t ik_trust_copy_create(const void *ctx, const char *store, const ik_trust_snapshot_t *snapshot,
                           char **copy)
{
    char *path = ik_sprintf(ctx, "%s/%s", store, snapshot->hash);
    res_t built = access(path, F_OK) == 0 ? OK : build_copy(store, snapshot, path);
    if (is_ok(&built)) {
        *copy = path;
    } else {
        talloc_free(path);
    }
    return built;
}

/* --- removing ---------------------------------------------------------------------------- */

static bool is_hash(const char *name)
{
    return strlen(name) == IK_TRUST_SNAPSHOT_HASH_LENGTH &&
           strspn(name, "0123456789abcdef") == IK_TRUST_SNAPSHOT_HASH_LENGTH;
}

void ik_trust_copy_remove(const char *store, const char *hash)
{
    int fd = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && is_hash(hash)) {
        ik_file_remove_tree(fd, hash);
    }
    if (fd >= 0) {
        close(fd);
    }
}

void ik_trust_copy_clean(const char *store, bool (*is_used)(void *data, const char *hash),
                         void *data)
{
    DIR *folder = opendir(store);
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        /* A copy that a killed ikigai did not finish is unused, too. */
        const char *name = entry->d_name;
        bool ours = is_hash(name) || strncmp(name, "building-", 9) == 0;
        struct stat status;
        if (ours && fstatat(dirfd(folder), name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            time(NULL) - status.st_mtim.tv_sec > UNUSED_SECONDS && !is_used(data, name)) {
            ik_file_remove_tree(dirfd(folder), name);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

#include "tool/tool_trust.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/ownership.h"

enum { FORMAT = 1, TRUST_FILE_MAX = 32 * 1024 * 1024, MAX_DEPTH = 32 };

#define COPY_BUFFER 65536

/* --- the recorded decisions -------------------------------------------------------------- */

/* The recorded folders, {canonical path: {hash, trusted_at, files}}; an empty object when there are
 * none. New reference. A file that others may write, or that is broken, is an error: trust is not
 * guessed. */
static res_t load_records(const ik_paths_t *paths, json_t **folders)
{
    char *text;
    size_t len;
    *folders = NULL;
    res_t owned = ik_ownership_check_file(paths->trust_file);
    if (owned.code == IK_ERR_NOT_FOUND) {
        *folders = json_object();
        return OK;
    }
    TRY(owned);
    TRY(ik_file_read(NULL, paths->trust_file, TRUST_FILE_MAX, &text, &len));
    json_error_t error;
    json_t *root = ik_json_parse(text, len, &error);
    talloc_free(text);
    json_t *found = json_object_get(root, "folders");
    bool usable =
        json_is_object(found) && json_integer_value(json_object_get(root, "format")) == FORMAT;
    *folders = usable ? json_incref(found) : NULL;
    json_decref(root);
    if (*folders == NULL) {
        return ERR(INVALID, "%s is damaged; remove it to start without any trust",
                   paths->trust_file);
    }
    return OK;
}

/* Who reads the records to change them holds this lock from before the reading until after the
 * saving, or a decision taken at the same time elsewhere would be undone; worst, a refreshed record
 * would bring back what the user just took away. Returns a descriptor to close. */
static res_t lock_records(const ik_paths_t *paths, int *lock)
{
    TRY(ik_file_make_private_folder(paths->home));
    *lock = open(paths->home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0 || flock(*lock, LOCK_EX) < 0) {
        res_t failed = ERR(SYSTEM, "Cannot lock %s: %s", paths->home, strerror(errno));
        if (*lock >= 0) {
            close(*lock);
        }
        return failed;
    }
    return OK;
}

static res_t save_records(const ik_paths_t *paths, json_t *folders)
{
    json_t *root = json_pack("{s:i, s:O}", "format", FORMAT, "folders", folders);
    char *text = ik_json_format(NULL, root);
    json_decref(root);
    res_t saved = ik_file_make_private_folder(paths->home);
    if (is_ok(&saved)) {
        saved = ik_file_write_private(paths->trust_file, text, strlen(text));
    }
    talloc_free(text);
    return saved;
}

static json_t *record_of_file(const ik_tool_trust_file_t *file)
{
    return json_pack("{s:i, s:s, s:s*, s:s*}", "mode", (int)file->mode, "identity", file->identity,
                     "hash", file->hash, "target", file->target);
}

/* NULL when a name is not UTF-8. */
static json_t *record_of_snapshot(const ik_tool_trust_snapshot_t *snapshot, json_int_t trusted_at)
{
    json_t *files = json_object();
    for (size_t i = 0; i < snapshot->count; i++) {
        const ik_tool_trust_file_t *file = &snapshot->files[i];
        if (json_object_set_new(files, file->path, record_of_file(file)) != 0) {
            json_decref(files);
            return NULL;
        }
    }
    return json_pack("{s:s, s:I, s:o}", "hash", snapshot->hash, "trusted_at", trusted_at, "files",
                     files);
}

/* The recorded file of that path, or NULL. */
static json_t *find_recorded(json_t *record, const char *path)
{
    return json_object_get(json_object_get(record, "files"), path);
}

static const char *recorded_text(json_t *file, const char *key)
{
    return json_string_value(json_object_get(file, key));
}

/* --- hashing ----------------------------------------------------------------------------- */

static void format_hex(const uint8_t *bytes, size_t len, char *hex)
{
    for (size_t i = 0; i < len; i++) {
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    }
}

/* Hashes a file and, when copy_fd is not negative, writes what it read there. */
static res_t hash_file(int folder_fd, const char *path, int copy_fd, char *hex)
{
    static uint8_t bytes[COPY_BUFFER];
    int fd = openat(folder_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return ERR(SYSTEM, "Cannot read %s: %s", path, strerror(errno));
    }
    SHA2_CTX state;
    SHA256Init(&state);
    ssize_t got;
    res_t result = OK;
    while ((got = read(fd, bytes, sizeof(bytes))) > 0 && is_ok(&result)) {
        SHA256Update(&state, bytes, (size_t)got);
        if (copy_fd >= 0 && write(copy_fd, bytes, (size_t)got) != got) {
            result = ERR(SYSTEM, "Cannot copy %s: %s", path, strerror(errno));
        }
    }
    if (got < 0) {
        result = ERR(SYSTEM, "Cannot read %s: %s", path, strerror(errno));
    }
    close(fd);
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256Final(digest, &state);
    format_hex(digest, sizeof(digest), hex);
    return result;
}

/* One hash over all entries; NUL and newline keep fields and entries apart. */
static void hash_snapshot(ik_tool_trust_snapshot_t *snapshot)
{
    SHA2_CTX state;
    SHA256Init(&state);
    for (size_t i = 0; i < snapshot->count; i++) {
        const ik_tool_trust_file_t *file = &snapshot->files[i];
        char kind[32];
        int kind_len = snprintf(kind, sizeof(kind), "%c%04o", file->target == NULL ? 'f' : 'l',
                                file->target == NULL ? (unsigned)file->mode : 0);
        const char *content = file->target == NULL ? file->hash : file->target;
        SHA256Update(&state, (const uint8_t *)kind, (size_t)kind_len + 1);
        SHA256Update(&state, (const uint8_t *)file->path, strlen(file->path) + 1);
        SHA256Update(&state, (const uint8_t *)content, strlen(content) + 1);
    }
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256Final(digest, &state);
    format_hex(digest, sizeof(digest), snapshot->hash);
}

/* --- listing ----------------------------------------------------------------------------- */

/* Empty while the file is so young that another change could look the same. */
static char *format_identity(const void *ctx, const struct stat *status)
{
    return ik_file_is_settled(status->st_ctim) ? ik_file_format_identity(ctx, status)
                                               : ik_strdup(ctx, "");
}

/* Whether a symlink, followed to its end, is still below the (canonical) folder. Looking at the
 * text would not do: "sub/../x" leaves when sub is itself a link. */
static bool ends_inside(const char *folder, const char *path, const char *target)
{
    char *link = ik_sprintf(NULL, "%s/%s", folder, path);
    char *end = realpath(link, NULL);
    size_t len = strlen(folder);
    /* An absolute target would lead from the copy back into the project. */
    bool inside =
        target[0] != '/' && end != NULL && strncmp(end, folder, len) == 0 && end[len] == '/';
    free(end);
    talloc_free(link);
    return inside;
}

typedef struct {
    ik_tool_trust_snapshot_t *snapshot;
    int fd; /* of the folder */
} listing_t;

static res_t add_entry(listing_t *listing, const char *path, const struct stat *status)
{
    ik_tool_trust_snapshot_t *snapshot = listing->snapshot;
    if (snapshot->count == IK_TOOL_TRUST_MAX_FILES) {
        return ERR(LIMIT, "%s holds more than %d files", snapshot->folder, IK_TOOL_TRUST_MAX_FILES);
    }
    snapshot->files =
        ik_resize_array(snapshot, snapshot->files, ik_tool_trust_file_t, snapshot->count + 1);
    ik_tool_trust_file_t *file = &snapshot->files[snapshot->count++];
    *file = (ik_tool_trust_file_t){.path = ik_strdup(snapshot, path),
                                   .mode = status->st_mode & 07777,
                                   .size = status->st_size,
                                   .identity = format_identity(snapshot, status)};
    if (S_ISLNK(status->st_mode)) {
        char target[4096];
        ssize_t len = readlinkat(listing->fd, path, target, sizeof(target) - 1);
        if (len < 0 || len == sizeof(target) - 1) {
            return ERR(SYSTEM, "Cannot read the symlink %s", path);
        }
        file->target = ik_strndup(snapshot, target, (size_t)len);
        if (!ends_inside(snapshot->folder, path, file->target)) {
            return ERR(DENIED, "the symlink %s leaves the folder; replace it by a copy", path);
        }
    } else {
        snapshot->bytes += status->st_size;
    }
    if (snapshot->bytes > IK_TOOL_TRUST_MAX_BYTES) {
        return ERR(LIMIT, "%s holds more than %d MB", snapshot->folder,
                   IK_TOOL_TRUST_MAX_BYTES / 1024 / 1024);
    }
    return OK;
}

static res_t list_folder(listing_t *listing, const char *path, int depth);

static res_t list_entry(listing_t *listing, const char *path, const char *name, int depth)
{
    struct stat status;
    if (fstatat(listing->fd, path, &status, AT_SYMLINK_NOFOLLOW) < 0) {
        return ERR(SYSTEM, "Cannot look at %s: %s", path, strerror(errno));
    }
    if (S_ISDIR(status.st_mode)) {
        return strcmp(name, "__pycache__") == 0 ? OK : list_folder(listing, path, depth + 1);
    }
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
        return ERR(DENIED, "%s is neither a file nor a folder; remove it", path);
    }
    return add_entry(listing, path, &status);
}

/* path is "" for the folder itself. */
static res_t list_folder(listing_t *listing, const char *path, int depth)
{
    if (depth > MAX_DEPTH) {
        return ERR(LIMIT, "%s is nested too deeply", path);
    }
    int fd = openat(listing->fd, *path == '\0' ? "." : path,
                    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (folder == NULL) {
        return ERR(SYSTEM, "Cannot read the folder %s: %s", path, strerror(errno));
    }
    res_t result = OK;
    struct dirent *entry;
    while (is_ok(&result) && (entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        char *below = *path == '\0' ? ik_strdup(listing->snapshot, entry->d_name)
                                    : ik_sprintf(listing->snapshot, "%s/%s", path, entry->d_name);
        result = list_entry(listing, below, entry->d_name, depth);
        talloc_free(below);
    }
    closedir(folder);
    return result;
}

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const ik_tool_trust_file_t *)a)->path, ((const ik_tool_trust_file_t *)b)->path);
}

/* Contents come from the record where the identity is unchanged, else from the file. */
static res_t fill_hashes(listing_t *listing, json_t *record)
{
    ik_tool_trust_snapshot_t *snapshot = listing->snapshot;
    for (size_t i = 0; i < snapshot->count; i++) {
        ik_tool_trust_file_t *file = &snapshot->files[i];
        if (file->target != NULL) {
            continue;
        }
        json_t *recorded = find_recorded(record, file->path);
        const char *identity = recorded_text(recorded, "identity");
        const char *hash = recorded_text(recorded, "hash");
        if (identity != NULL && hash != NULL && *identity != '\0' &&
            strcmp(identity, file->identity) == 0) {
            file->hash = ik_strdup(snapshot, hash);
            continue;
        }
        char hex[IK_TOOL_TRUST_HASH_LENGTH + 1];
        TRY(hash_file(listing->fd, file->path, -1, hex));
        file->hash = ik_strdup(snapshot, hex);
    }
    return OK;
}

static bool is_tool(const listing_t *listing, const ik_tool_trust_file_t *file)
{
    struct stat status;
    return strchr(file->path, '/') == NULL && file->path[0] != '.' &&
           fstatat(listing->fd, file->path, &status, 0) == 0 && S_ISREG(status.st_mode) &&
           (status.st_mode & 0111) != 0;
}

static void collect_tools(const listing_t *listing)
{
    ik_tool_trust_snapshot_t *snapshot = listing->snapshot;
    snapshot->tools = ik_new_array(snapshot, char *, snapshot->count + 1);
    for (size_t i = 0; i < snapshot->count; i++) {
        if (is_tool(listing, &snapshot->files[i])) {
            snapshot->tools[snapshot->tool_count++] = snapshot->files[i].path;
        }
    }
}

static res_t take_snapshot(ik_tool_trust_snapshot_t *snapshot, int fd, json_t *record)
{
    listing_t listing = {.snapshot = snapshot, .fd = fd};
    TRY(list_folder(&listing, "", 0));
    if (snapshot->count > 0) {
        qsort(snapshot->files, snapshot->count, sizeof(*snapshot->files), compare_files);
    }
    TRY(fill_hashes(&listing, record));
    hash_snapshot(snapshot);
    collect_tools(&listing);
    return OK;
}

/* --- checking ---------------------------------------------------------------------------- */

static char *describe_file_change(const void *ctx, const ik_tool_trust_file_t *file,
                                  json_t *recorded)
{
    const char *content = file->target == NULL ? file->hash : file->target;
    const char *old = recorded_text(recorded, file->target == NULL ? "hash" : "target");
    if (recorded == NULL) {
        return ik_sprintf(ctx, "%s is new", file->path);
    }
    if (old == NULL || strcmp(old, content) != 0) {
        return ik_sprintf(ctx, "%s changed", file->path);
    }
    if (file->target == NULL &&
        json_integer_value(json_object_get(recorded, "mode")) != (json_int_t)file->mode) {
        return ik_sprintf(ctx, "the permissions of %s changed", file->path);
    }
    return NULL;
}

/* The first difference between the record and the snapshot, in words. */
static char *describe_change(const void *ctx, const ik_tool_trust_snapshot_t *snapshot,
                             json_t *record)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        const ik_tool_trust_file_t *file = &snapshot->files[i];
        char *change = describe_file_change(ctx, file, find_recorded(record, file->path));
        if (change != NULL) {
            return change;
        }
    }
    const char *path;
    json_t *recorded;
    json_object_foreach(json_object_get(record, "files"), path, recorded)
    {
        ik_tool_trust_file_t wanted = {.path = (char *)path};
        if (bsearch(&wanted, snapshot->files, snapshot->count, sizeof(wanted), compare_files) ==
            NULL) {
            return ik_sprintf(ctx, "%s is gone", path);
        }
    }
    return ik_strdup(ctx, "its record is damaged");
}

static void refuse(ik_tool_trust_status_t *status, const char *reason)
{
    status->state = IK_TOOL_TRUST_REFUSED;
    status->reason = ik_strdup(status, reason);
    status->snapshot = NULL;
}

/* Whether some file's identity could now be recorded, or differs from the record (a file was
 * touched, or copied back): the next check would have to read it again. */
static bool record_is_stale(const ik_tool_trust_snapshot_t *snapshot, json_t *record)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        const ik_tool_trust_file_t *file = &snapshot->files[i];
        const char *recorded = recorded_text(find_recorded(record, file->path), "identity");
        if (file->target == NULL && *file->identity != '\0' &&
            (recorded == NULL || strcmp(recorded, file->identity) != 0)) {
            return true;
        }
    }
    return false;
}

/* Takes the snapshot into the records. As a refresh it changes nothing but identities, and nothing
 * at all when these bytes are no longer trusted. */
static res_t record_snapshot(const ik_paths_t *paths, const ik_tool_trust_snapshot_t *snapshot,
                             bool refresh)
{
    int lock;
    json_t *folders = NULL;
    TRY(lock_records(paths, &lock));
    res_t saved = load_records(paths, &folders);
    json_t *old = json_object_get(folders, snapshot->folder);
    const char *trusted = recorded_text(old, "hash");
    if (is_ok(&saved) && refresh && (trusted == NULL || strcmp(trusted, snapshot->hash) != 0)) {
        saved = ERR(CONFLICT, "The trust was taken back in the meantime");
    }
    if (is_ok(&saved)) {
        json_int_t when = refresh ? json_integer_value(json_object_get(old, "trusted_at"))
                                  : (json_int_t)time(NULL);
        json_t *record = record_of_snapshot(snapshot, when);
        saved = record != NULL && json_object_set_new(folders, snapshot->folder, record) == 0
                    ? save_records(paths, folders)
                    : ERR(INVALID, "%s: its name or a name in it is not UTF-8", snapshot->folder);
    }
    json_decref(folders);
    close(lock);
    return saved;
}

static void judge(ik_tool_trust_status_t *status, int fd, json_t *folders)
{
    ik_tool_trust_snapshot_t *snapshot = status->snapshot;
    json_t *record = json_object_get(folders, snapshot->folder);
    res_t taken = take_snapshot(snapshot, fd, record);
    const char *trusted = recorded_text(record, "hash");
    if (is_err(&taken)) {
        refuse(status, taken.message);
    } else if (snapshot->tool_count == 0) {
        status->state = IK_TOOL_TRUST_ABSENT;
    } else if (trusted == NULL) {
        status->state = IK_TOOL_TRUST_NEVER;
    } else if (strcmp(trusted, snapshot->hash) == 0) {
        status->state = IK_TOOL_TRUST_GIVEN;
    } else {
        status->state = IK_TOOL_TRUST_CHANGED;
        status->changed = describe_change(status, snapshot, record);
    }
}

static char *canonical(const void *ctx, const char *folder)
{
    char *resolved = realpath(folder, NULL);
    char *copy = resolved == NULL ? NULL : ik_strdup(ctx, resolved);
    free(resolved);
    return copy;
}

ik_tool_trust_status_t *ik_tool_trust_check(const void *ctx, const ik_paths_t *paths,
                                            const char *folder)
{
    ik_tool_trust_status_t *status = ik_new(ctx, ik_tool_trust_status_t);
    char *resolved = folder == NULL ? NULL : canonical(status, folder);
    int fd = resolved == NULL ? -1 : open(resolved, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        if (folder != NULL && errno != ENOENT) {
            refuse(status, strerror(errno));
        }
        return status;
    }
    json_t *folders = NULL;
    res_t loaded = load_records(paths, &folders);
    if (is_err(&loaded)) {
        refuse(status, loaded.message);
    } else {
        status->snapshot = ik_new(status, ik_tool_trust_snapshot_t);
        status->snapshot->folder = resolved;
        judge(status, fd, folders);
    }
    if (status->state == IK_TOOL_TRUST_GIVEN &&
        record_is_stale(status->snapshot, json_object_get(folders, resolved))) {
        /* The same bytes under new identities: saves rehashing at the next start. That it cannot
         * be saved is no reason to complain. */
        record_snapshot(paths, status->snapshot, true);
    }
    json_decref(folders);
    close(fd);
    return status;
}

/* --- copying ----------------------------------------------------------------------------- */

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

static res_t copy_file(int from_fd, int to_fd, const ik_tool_trust_file_t *file)
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
    char hex[IK_TOOL_TRUST_HASH_LENGTH + 1];
    res_t result = hash_file(from_fd, file->path, fd, hex);
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

static void remove_tree(int parent_fd, const char *name)
{
    if (unlinkat(parent_fd, name, 0) == 0 || (errno != EISDIR && errno != EPERM)) {
        return;
    }
    fchmodat(parent_fd, name, 0700, 0);
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            remove_tree(fd, entry->d_name);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    unlinkat(parent_fd, name, AT_REMOVEDIR);
}

/* Folders lose their write bit last, deepest first: the list is sorted, so parents come before. */
static void lock_folders(int copy_fd, const ik_tool_trust_snapshot_t *snapshot)
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
                      const ik_tool_trust_snapshot_t *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        TRY(copy_file(from_fd, to_fd, &snapshot->files[i]));
    }
    for (size_t i = 0; i < snapshot->count; i++) {
        const ik_tool_trust_file_t *file = &snapshot->files[i];
        if (file->target != NULL && !ends_inside(building, file->path, file->target)) {
            return ERR(CONFLICT, "the symlink %s leaves the folder", file->path);
        }
    }
    lock_folders(to_fd, snapshot);
    return OK;
}

/* Builds the copy beside its place and moves it there whole, so that what stands under a hash is
 * always complete. */
static res_t build_copy(const ik_paths_t *paths, const ik_tool_trust_snapshot_t *snapshot,
                        const char *copy)
{
    TRY(ik_file_make_private_folder(paths->trusted));
    char *trusted = canonical(NULL, paths->trusted);
    if (trusted == NULL) {
        return ERR(SYSTEM, "Cannot use %s: %s", paths->trusted, strerror(errno));
    }
    char *building = ik_sprintf(NULL, "%s/building-%d", trusted, (int)getpid());
    talloc_free(trusted);
    remove_tree(AT_FDCWD, building);
    int from_fd = open(snapshot->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
    remove_tree(AT_FDCWD, building);
    if (from_fd >= 0) {
        close(from_fd);
    }
    if (to_fd >= 0) {
        close(to_fd);
    }
    talloc_free(building);
    return result;
}

res_t ik_tool_trust_copy(const void *ctx, const ik_paths_t *paths,
                         const ik_tool_trust_snapshot_t *snapshot, char **copy)
{
    char *path = ik_sprintf(ctx, "%s/%s", paths->trusted, snapshot->hash);
    if (access(path, F_OK) != 0) {
        TRY(build_copy(paths, snapshot, path));
    }
    *copy = path;
    return OK;
}

/* --- deciding ---------------------------------------------------------------------------- */

/* The copy holds the reviewed bytes in any case; but who is told "trusted" expects that the folder
 * as it is now is meant. */
static res_t check_unchanged(const ik_tool_trust_snapshot_t *reviewed)
{
    ik_tool_trust_snapshot_t *now = ik_new(NULL, ik_tool_trust_snapshot_t);
    now->folder = ik_strdup(now, reviewed->folder);
    int fd = open(now->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    res_t result = fd < 0 ? ERR(SYSTEM, "Cannot read %s: %s", now->folder, strerror(errno))
                          : take_snapshot(now, fd, NULL);
    if (is_ok(&result) && strcmp(now->hash, reviewed->hash) != 0) {
        json_t *record = record_of_snapshot(reviewed, 0);
        char *change = describe_change(now, now, record);
        result = ERR(CONFLICT, "%s in the meantime; review again", change);
        json_decref(record);
    }
    if (fd >= 0) {
        close(fd);
    }
    talloc_free(now);
    return result;
}

res_t ik_tool_trust_grant(const ik_paths_t *paths, const ik_tool_trust_snapshot_t *snapshot)
{
    char *copy;
    TRY(ik_tool_trust_copy(NULL, paths, snapshot, &copy));
    talloc_free(copy);
    TRY(check_unchanged(snapshot));
    return record_snapshot(paths, snapshot, false);
}

static bool hash_in_use(json_t *folders, const char *hash)
{
    const char *folder;
    json_t *record;
    json_object_foreach(folders, folder, record)
    {
        const char *used = recorded_text(record, "hash");
        if (used != NULL && strcmp(used, hash) == 0) {
            return true;
        }
    }
    return false;
}

static void remove_copy(const ik_paths_t *paths, json_t *folders, const char *hash)
{
    if (hash != NULL && strlen(hash) == IK_TOOL_TRUST_HASH_LENGTH && strchr(hash, '/') == NULL &&
        !hash_in_use(folders, hash)) {
        char *copy = ik_sprintf(NULL, "%s/%s", paths->trusted, hash);
        remove_tree(AT_FDCWD, copy);
        talloc_free(copy);
    }
}

static res_t forget(const ik_paths_t *paths, const char *folder, bool *known)
{
    json_t *folders;
    TRY(load_records(paths, &folders));
    json_t *record = json_incref(json_object_get(folders, folder));
    res_t saved = OK;
    *known = record != NULL;
    if (*known) {
        json_object_del(folders, folder);
        saved = save_records(paths, folders);
    }
    if (is_ok(&saved)) {
        remove_copy(paths, folders, recorded_text(record, "hash"));
    }
    json_decref(record);
    json_decref(folders);
    return saved;
}

res_t ik_tool_trust_revoke(const ik_paths_t *paths, const char *folder, bool *known)
{
    int lock;
    TRY(lock_records(paths, &lock));
    /* The folder itself may be gone; then its path as given is the best there is. */
    char *resolved = canonical(NULL, folder);
    res_t forgotten = forget(paths, resolved == NULL ? folder : resolved, known);
    talloc_free(resolved);
    close(lock);
    return forgotten;
}

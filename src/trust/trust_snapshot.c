#include "trust/trust_snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

enum { MAX_DEPTH = 32, READ_SIZE = 65536 };

/* --- hashing ----------------------------------------------------------------------------- */

static void format_hex(const uint8_t *bytes, size_t len, char *hex)
{
    for (size_t i = 0; i < len; i++) {
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    }
}

res_t ik_trust_snapshot_hash_file(int folder_fd, const char *path, int copy_fd, char *hex)
{
    static uint8_t bytes[READ_SIZE];
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

/* One hash over all entries; a NUL ends each field. */
static void hash_snapshot(ik_trust_snapshot_t *snapshot)
{
    SHA2_CTX state;
    SHA256Init(&state);
    for (size_t i = 0; i < snapshot->count; i++) {
        const ik_trust_snapshot_file_t *file = &snapshot->files[i];
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

bool ik_trust_snapshot_ends_inside(const char *folder, const char *path, const char *target)
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
    ik_trust_snapshot_t *snapshot;
    int fd; /* of the folder */
} listing_t;

static res_t add_entry(listing_t *listing, const char *path, const struct stat *status)
{
    ik_trust_snapshot_t *snapshot = listing->snapshot;
    if (snapshot->count == IK_TRUST_SNAPSHOT_MAX_FILES) {
        return ERR(LIMIT, "%s holds more than %d files", snapshot->folder,
                   IK_TRUST_SNAPSHOT_MAX_FILES);
    }
    snapshot->files =
        ik_resize_array(snapshot, snapshot->files, ik_trust_snapshot_file_t, snapshot->count + 1);
    ik_trust_snapshot_file_t *file = &snapshot->files[snapshot->count++];
    *file = (ik_trust_snapshot_file_t){.path = ik_strdup(snapshot, path),
                                       .mode = status->st_mode & 07777,
                                       .size = status->st_size};
    /* A young file could change again without a change of its times. */
    file->identity = ik_file_is_settled(status->st_ctim) ? ik_file_format_identity(snapshot, status)
                                                         : ik_strdup(snapshot, "");
    if (S_ISLNK(status->st_mode)) {
        char target[4096];
        ssize_t len = readlinkat(listing->fd, path, target, sizeof(target) - 1);
        if (len < 0 || len == sizeof(target) - 1) {
            return ERR(SYSTEM, "Cannot read the symlink %s", path);
        }
        file->target = ik_strndup(snapshot, target, (size_t)len);
        if (!ik_trust_snapshot_ends_inside(snapshot->folder, path, file->target)) {
            return ERR(DENIED, "the symlink %s leads outside the folder; replace it with a copy",
                       path);
        }
    } else {
        snapshot->bytes += status->st_size;
    }
    if (snapshot->bytes > IK_TRUST_SNAPSHOT_MAX_BYTES) {
        return ERR(LIMIT, "%s holds more than %d MB", snapshot->folder,
                   IK_TRUST_SNAPSHOT_MAX_BYTES / 1024 / 1024);
    }
    return OK;
}

static res_t list_folder(listing_t *listing, const char *path, int depth);

static res_t list_entry(listing_t *listing, const char *path, const char *name, int depth)
{
    struct stat status;
    if (fstatat(listing->fd, path, &status, AT_SYMLINK_NOFOLLOW) < 0) {
        return ERR(SYSTEM, "Cannot access %s: %s", path, strerror(errno));
    }
    if (S_ISDIR(status.st_mode)) {
        return strcmp(name, "__pycache__") == 0 ? OK : list_folder(listing, path, depth + 1);
    }
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
        return ERR(DENIED, "%s is neither a file nor a folder; remove it", path);
    }
    return add_entry(listing, path, &status);
}

/* path is relative to the snapshot's folder, "" for the folder itself. */
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
    return strcmp(((const ik_trust_snapshot_file_t *)a)->path,
                  ((const ik_trust_snapshot_file_t *)b)->path);
}

static res_t fill_hashes(listing_t *listing, ik_trust_snapshot_known_fn known, void *data)
{
    ik_trust_snapshot_t *snapshot = listing->snapshot;
    for (size_t i = 0; i < snapshot->count; i++) {
        ik_trust_snapshot_file_t *file = &snapshot->files[i];
        if (file->target != NULL) {
            continue;
        }
        const char *hash = known == NULL ? NULL : known(data, file);
        char hex[IK_TRUST_SNAPSHOT_HASH_LENGTH + 1];
        if (hash == NULL) {
            TRY(ik_trust_snapshot_hash_file(listing->fd, file->path, -1, hex));
            hash = hex;
        }
        file->hash = ik_strdup(snapshot, hash);
    }
    return OK;
}

static bool is_tool(const listing_t *listing, const ik_trust_snapshot_file_t *file)
{
    struct stat status;
    return strchr(file->path, '/') == NULL && file->path[0] != '.' &&
           fstatat(listing->fd, file->path, &status, 0) == 0 && S_ISREG(status.st_mode) &&
           (status.st_mode & 0111) != 0;
}

static void collect_tools(const listing_t *listing)
{
    ik_trust_snapshot_t *snapshot = listing->snapshot;
    snapshot->tools = ik_new_array(snapshot, char *, snapshot->count + 1);
    for (size_t i = 0; i < snapshot->count; i++) {
        if (is_tool(listing, &snapshot->files[i])) {
            snapshot->tools[snapshot->tool_count++] = snapshot->files[i].path;
        }
    }
}

/* only: the name of the one file to list; NULL: all are. */
static res_t fill(listing_t *listing, const char *only, ik_trust_snapshot_known_fn known,
                  void *data)
{
    ik_trust_snapshot_t *snapshot = listing->snapshot;
    TRY(only == NULL ? list_folder(listing, "", 0) : list_entry(listing, only, only, 0));
    if (snapshot->count > 0) {
        qsort(snapshot->files, snapshot->count, sizeof(*snapshot->files), compare_files);
    }
    TRY(fill_hashes(listing, known, data));
    hash_snapshot(snapshot);
    collect_tools(listing);
    return OK;
}

int ik_trust_snapshot_open(const char *folder, const char **only)
{
    *only = NULL;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *slash = strrchr(folder, '/');
    if (fd < 0 && errno == ENOTDIR && slash != NULL && strcmp(slash, "/.mcp.json") == 0) {
        char *above = ik_strndup(NULL, folder, slash == folder ? 1 : (size_t)(slash - folder));
        fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        talloc_free(above);
        *only = slash + 1;
    }
    return fd;
}

res_t ik_trust_snapshot_create(const void *ctx, const char *folder,
                               ik_trust_snapshot_known_fn known, void *data,
                               ik_trust_snapshot_t **out)
{
    const char *only;
    int fd = ik_trust_snapshot_open(folder, &only);
    if (fd < 0) {
        return ERR(SYSTEM, "Cannot read %s: %s", folder, strerror(errno));
    }
    ik_trust_snapshot_t *snapshot = ik_new(ctx, ik_trust_snapshot_t);
    snapshot->folder = snapshot->record = ik_strdup(snapshot, folder);
    listing_t listing = {.snapshot = snapshot, .fd = fd};
    res_t filled = fill(&listing, only, known, data);
    close(fd);
    if (is_err(&filled)) {
        talloc_free(snapshot);
        return filled;
    }
    *out = snapshot;
    return OK;
}

const ik_trust_snapshot_file_t *ik_trust_snapshot_find(const ik_trust_snapshot_t *snapshot,
                                                       const char *path)
{
    ik_trust_snapshot_file_t wanted = {.path = (char *)path};
    return snapshot->count == 0
               ? NULL
               : bsearch(&wanted, snapshot->files, snapshot->count, sizeof(wanted), compare_files);
}

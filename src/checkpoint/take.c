#include "checkpoint/take.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "checkpoint/git_hash.h"
#include "checkpoint/safe_open.h"
#include "checkpoint/taker.h"
#include "checkpoint/tree_walk.h"

enum {
    ATTEMPTS = 4,           /* to read a file that changes meanwhile */
    LINKS_MAX = 40,         /* the kernel's own limit */
    WHOLE_MAX = 256 * 1024, /* larger files are copied in pieces */
    BATCH_MIN = 256,        /* this many contents go into one pack */
    DEPTH_MAX = 32,         /* bases of a state */
    SINGLES_MAX = 1024,     /* objects of git that are kept before they are needed */
    SHARE = 8,              /* a file may take this part of max_bytes */
    /* Compressed contents are not smaller than this part of the files. */
    COMPRESSION_MAX = 20,
};
/* A file whose time is younger than this when it is read could change again and keep its time. */
#define SETTLED_NS INT64_C(2000000000)

typedef struct {
    ik_place_t *place;
    const ik_take_request_t *request;
    ik_state_t *state; /* the new one */
    ik_tree_t *tree;   /* NULL: the folder is not covered */
    ik_tree_file_t *named;
    size_t named_count;
    bool linked;      /* a named file has other names (hard links) */
    ik_state_t *base; /* the last state of the tree; NULL: none */
    bool base_given;  /* the caller named it */
    ik_state_item_t *known;
    size_t known_count;
    int64_t now_ns;
    bool store;
    size_t singles; /* objects that may still be kept */
    bool beyond_bytes;
    const ik_tree_file_t *file; /* being read; NULL: nothing else is known about it */
    /* A file that has the size of neither is not read; NULL: it is. */
    const ik_entry_t *before;
    const ik_entry_t *after;
    char *piece; /* WHOLE_MAX bytes */
    res_t result;
} take_t;

static int64_t nanoseconds(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* --- what is known -------------------------------------------------------------------------- */

/* The number of a repository in the new state. */
static uint16_t add_repository(take_t *take, const char *objects)
{
    ik_state_t *state = take->state;
    for (size_t i = state->repository_count; i > 0; i--) {
        if (strcmp(state->repositories[i - 1].objects, objects) == 0) {
            return (uint16_t)(i - 1);
        }
    }
    state->repositories = ik_resize_array(state, state->repositories, ik_state_repository_t,
                                          state->repository_count + 1);
    ik_state_repository_t *added = &state->repositories[state->repository_count];
    added->objects = ik_strdup(state, objects);
    ik_git_objects_name(objects, added->key);
    return (uint16_t)state->repository_count++;
}

/* Takes the content from an earlier state in which the file had the same status. A file without
 * content is read again unless it is too large: the limit may have been raised since. */
static bool recall(take_t *take, ik_entry_t *entry, const ik_entry_t *old, const ik_state_t *owner,
                   int64_t verified_ns)
{
    bool kept = old->kind == entry->kind && old->naming != IK_NAMED_NOT &&
                old->ctime_ns < verified_ns - SETTLED_NS;
    bool large = old->kind == IK_ENTRY_UNKEPT && old->size > ik_take_size_max(take->place);
    if (!ik_entry_same_stat(old, entry) || (!kept && !large)) {
        return false;
    }
    entry->kind = old->kind;
    entry->naming = old->naming;
    memcpy(entry->name, old->name, sizeof(entry->name));
    if (old->naming == IK_NAMED_SHA1 || old->naming == IK_NAMED_SHA256) {
        entry->repository = add_repository(take, owner->repositories[old->repository].objects);
    }
    return true;
}

/* --- objects of git ------------------------------------------------------------------------- */

static bool is_object(const ik_entry_t *entry)
{
    return entry->naming == IK_NAMED_SHA1 || entry->naming == IK_NAMED_SHA256;
}

/* Names the content by the object in the index, if there is such an object. With measure, its size
 * must be that of the file: conversions of line ends and keywords change the size. */
static bool name_by_object(take_t *take, const ik_tree_file_t *file, ik_entry_t *entry,
                           bool measure)
{
    const ik_git_repository_t *repository = file->repository;
    size_t size = repository->object_size;
    /* Numbers of repositories have 16 bits. */
    if (take->state->repository_count >= UINT16_MAX) {
        return false;
    }
    uint16_t number = add_repository(take, repository->objects);
    ik_git_source_t source = {.path = repository->objects,
                              .key = take->state->repositories[number].key,
                              .object_size = size};
    const unsigned char *object = file->indexed->object;
    bool guess = take->singles == 0 && ik_git_index_is_whole(repository->index);
    if (!ik_git_objects_find(take->place->objects, &source, object, measure ? &entry->size : NULL,
                             &take->singles, guess)) {
        return false;
    }
    entry->naming = size == 20 ? IK_NAMED_SHA1 : IK_NAMED_SHA256;
    entry->repository = number;
    memset(entry->name, 0, sizeof(entry->name));
    memcpy(entry->name, object, size);
    return true;
}

/* Makes sure that the content of a file that has changed stays. */
static void keep_object(take_t *take, const ik_entry_t *old, const ik_state_t *owner)
{
    size_t one = 1;
    ik_git_source_t source = ik_place_source(old, owner);
    ik_git_objects_find(take->place->objects, &source, old->name, NULL, &one, false);
}

/* --- contents ------------------------------------------------------------------------------ */

static void name_bytes(const char *bytes, size_t len, unsigned char name[IK_BLAKE2B_SIZE])
{
    ik_blake2b_t hash;
    ik_blake2b_init(&hash);
    ik_blake2b_update(&hash, bytes, len);
    ik_blake2b_finish(&hash, name);
}

/* Sets the content of the entry. */
static int keep_bytes(take_t *take, ik_entry_t *entry, const char *bytes, size_t len)
{
    name_bytes(bytes, len, entry->name);
    int error = take->store ? ik_contents_put(take->place->contents, entry->name, bytes, len) : 0;
    entry->naming = error == 0 ? IK_NAMED_BLAKE2B : IK_NAMED_NOT;
    return error;
}

/* Fills the piece from the file; it is shorter at its end. -1: reading failed. */
static ssize_t read_piece(take_t *take, int fd)
{
    size_t len = 0;
    while (len < WHOLE_MAX) {
        ssize_t got = read(fd, take->piece + len, WHOLE_MAX - len);
        if (got < 0 && errno != EINTR) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        len += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)len;
}

static int hash_file(take_t *take, int fd, ik_entry_t *entry)
{
    ik_blake2b_t hash;
    uint64_t total = 0;
    ssize_t got;
    ik_blake2b_init(&hash);
    while ((got = read_piece(take, fd)) > 0) {
        total += (uint64_t)got;
        ik_blake2b_update(&hash, take->piece, (size_t)got);
    }
    if (got < 0) {
        return errno;
    }
    ik_blake2b_finish(&hash, entry->name);
    entry->naming = total == entry->size ? IK_NAMED_BLAKE2B : IK_NAMED_NOT;
    return total == entry->size ? 0 : EAGAIN;
}

/* Whether the open file is the object that the index has for it, byte for byte. The file is read
 * from its start afterwards. */
static bool is_indexed_object(take_t *take, int fd, const ik_entry_t *entry)
{
    ik_git_hash_t hash;
    size_t size = take->file->repository->object_size;
    unsigned char name[32];
    uint64_t total = 0;
    ik_git_hash_init(&hash, size, entry->size);
    for (ssize_t got; (got = read_piece(take, fd)) > 0;) {
        ik_git_hash_update(&hash, take->piece, (size_t)got);
        total += (uint64_t)got;
    }
    ik_git_hash_finish(&hash, name);
    return lseek(fd, 0, SEEK_SET) == 0 && total == entry->size &&
           memcmp(name, take->file->indexed->object, size) == 0;
}

uint64_t ik_take_size_max(const ik_place_t *place)
{
    return place->max_bytes / SHARE;
}

static bool has_size(const ik_entry_t *entry, uint64_t size)
{
    return entry->kind == IK_ENTRY_FILE && entry->size == size;
}

/* Reads the open file, whose status is in the entry. EAGAIN when it has another size. */
static int keep_file(take_t *take, int fd, ik_entry_t *entry)
{
    if (take->before != NULL && !has_size(take->before, entry->size) &&
        !has_size(take->after, entry->size)) {
        return 0;
    }
    if (take->file != NULL && take->file->indexed != NULL && entry->size > 0 &&
        is_indexed_object(take, fd, entry) && name_by_object(take, take->file, entry, false)) {
        return 0;
    }
    if (take->store && entry->size > ik_take_size_max(take->place)) {
        return EFBIG;
    }
    if (entry->size >= WHOLE_MAX) {
        if (!take->store) {
            return hash_file(take, fd, entry);
        }
        int error = ik_contents_put_file(take->place->contents, fd, entry->size, entry->name);
        entry->naming = error == 0 ? IK_NAMED_BLAKE2B : IK_NAMED_NOT;
        return error;
    }
    ssize_t len = read_piece(take, fd);
    if (len < 0) {
        return errno;
    }
    return (size_t)len != entry->size ? EAGAIN : keep_bytes(take, entry, take->piece, (size_t)len);
}

/* Opens the file and reads it. Returns ENOENT when it is gone, EAGAIN when it changed meanwhile. */
static int read_regular(take_t *take, int at, const char *path, ik_entry_t *entry)
{
    struct stat st;
    struct stat after;
    int fd = ik_safe_open(at, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return errno;
    }
    int error = fstat(fd, &st) != 0 ? errno : 0;
    if (error == 0 && !S_ISREG(st.st_mode)) {
        error = EAGAIN;
    }
    if (error == 0) {
        ik_entry_set_stat(entry, &st);
        entry->kind = IK_ENTRY_FILE;
        entry->naming = IK_NAMED_NOT;
        error = keep_file(take, fd, entry);
    }
    if (error == 0 && (fstat(fd, &after) != 0 || after.st_size != st.st_size ||
                       nanoseconds(after.st_mtim) != entry->mtime_ns ||
                       nanoseconds(after.st_ctim) != entry->ctime_ns)) {
        error = EAGAIN;
    }
    close(fd);
    return error;
}

static int read_link(take_t *take, int at, const char *path, ik_entry_t *entry)
{
    char target[PATH_MAX];
    struct stat st;
    struct stat after;
    const char *name;
    int folder = ik_safe_open_parent(at, path, &name);
    if (folder < 0) {
        return errno;
    }
    int error = fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ? errno : 0;
    if (error == 0 && !S_ISLNK(st.st_mode)) {
        error = EAGAIN;
    }
    if (error == 0) {
        ssize_t len = readlinkat(folder, name, target, sizeof(target));
        error = len < 0                                                   ? errno
                : fstatat(folder, name, &after, AT_SYMLINK_NOFOLLOW) != 0 ? errno
                : nanoseconds(after.st_ctim) != nanoseconds(st.st_ctim)   ? EAGAIN
                                                                          : 0;
        if (error == 0) {
            ik_entry_set_stat(entry, &st);
            entry->kind = IK_ENTRY_LINK;
            entry->size = (uint64_t)len;
            error = keep_bytes(take, entry, target, (size_t)len);
        }
    }
    close(folder);
    return error;
}

/* Reads what is at the path now and sets everything of the entry but its path. */
static void look(take_t *take, ik_entry_t *entry)
{
    const char *path = entry->path;
    int at = ik_place_at(take->place, &path);
    int error = EAGAIN;
    for (int attempt = 0; attempt < ATTEMPTS && error == EAGAIN; attempt++) {
        const char *name;
        struct stat st;
        int folder = ik_safe_open_parent(at, path, &name);
        error = folder < 0 || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ? errno : 0;
        if (folder >= 0) {
            close(folder);
        }
        if (error != 0) {
            break;
        }
        ik_entry_set_stat(entry, &st);
        entry->naming = IK_NAMED_NOT;
        if (S_ISREG(st.st_mode)) {
            error = read_regular(take, at, path, entry);
        } else if (S_ISLNK(st.st_mode)) {
            error = read_link(take, at, path, entry);
        } else {
            entry->kind = IK_ENTRY_SPECIAL;
        }
        error = error == ELOOP || error == ENXIO ? EAGAIN : error;
    }
    if (error == ENOENT || error == ENOTDIR || error == ELOOP) {
        *entry =
            (ik_entry_t){.path = entry->path, .path_len = entry->path_len, .kind = IK_ENTRY_ABSENT};
    } else if (error != 0) {
        entry->kind = IK_ENTRY_UNKEPT;
        entry->naming = IK_NAMED_NOT;
        if (error == ENOSPC || error == EDQUOT || error == EROFS) {
            take->result =
                ERR(SYSTEM, "Cannot store contents in %s: %s", take->place->blobs, strerror(error));
        }
    }
}

ik_entry_t ik_take_look(ik_place_t *place, const char *path, const ik_entry_t *before,
                        const ik_entry_t *after)
{
    take_t take = {
        .place = place, .piece = ik_alloc_plain(WHOLE_MAX), .before = before, .after = after};
    ik_entry_t entry = {.path = path, .path_len = (uint32_t)strlen(path)};
    look(&take, &entry);
    free(take.piece);
    return entry;
}

/* --- named files ---------------------------------------------------------------------------- */

static int compare_files(const void *a, const void *b)
{
    const ik_entry_t *x = &((const ik_tree_file_t *)a)->entry;
    const ik_entry_t *y = &((const ik_tree_file_t *)b)->entry;
    return ik_state_compare_paths(x->path, x->path_len, y->path, y->path_len);
}

static void add_named(take_t *take, char *path, size_t existing, const struct stat *st)
{
    size_t folder_len = strlen(take->place->folder);
    bool whole = folder_len == 1;
    bool inside =
        whole || (strncmp(path, take->place->folder, folder_len) == 0 && path[folder_len] == '/');
    size_t cut = !inside ? 0 : whole ? 1 : folder_len + 1;
    take->named = ik_resize_array(take->state, take->named, ik_tree_file_t, take->named_count + 1);
    ik_tree_file_t *file = &take->named[take->named_count++];
    *file = (ik_tree_file_t){.entry.path = path + cut};
    ik_entry_t *entry = &file->entry;
    entry->path_len = (uint32_t)strlen(entry->path);
    if (st == NULL) {
        entry->kind = IK_ENTRY_ABSENT;
        entry->size = existing > cut ? existing - cut : 0;
        return;
    }
    ik_entry_set_stat(entry, st);
    take->linked = take->linked || (S_ISREG(st->st_mode) && st->st_nlink > 1);
    entry->kind = S_ISREG(st->st_mode)   ? IK_ENTRY_FILE
                  : S_ISLNK(st->st_mode) ? IK_ENTRY_LINK
                                         : IK_ENTRY_SPECIAL;
}

/* The path without symbolic links in its folders. *existing is the length of the part of it that
 * exists. NULL when the path cannot be one. */
static char *resolve_folders(const void *ctx, const char *path, size_t *existing)
{
    char *rest = ik_strdup(ctx, path);
    size_t len = strlen(rest);
    while (len > 1 && rest[len - 1] == '/') {
        rest[--len] = '\0';
    }
    /* Up to the longest folder that exists, then what is missing, component by component. */
    for (size_t cut = len; cut > 0; cut--) {
        if (rest[cut - 1] != '/') {
            continue;
        }
        char *folder = ik_strndup(ctx, rest, cut);
        char *real = realpath(folder, NULL);
        if (real == NULL) {
            if (errno != ENOENT) {
                return NULL;
            }
            continue;
        }
        ik_buffer_t out;
        ik_buffer_init(&out, ctx, PATH_MAX * 2);
        ik_buffer_append_text(&out, real[1] == '\0' ? "" : real);
        *existing = out.len;
        free(real);
        for (char *name = strtok(rest + cut, "/"); name != NULL; name = strtok(NULL, "/")) {
            if (strcmp(name, "..") == 0) {
                return NULL;
            }
            if (strcmp(name, ".") != 0) {
                ik_buffer_append_format(&out, "/%s", name);
            }
        }
        return out.len <= *existing ? NULL : ik_buffer_finish(&out);
    }
    return NULL;
}

/* Adds a named file, and the targets of symbolic links that lead from it: programs that write the
 * file follow them. */
static void look_at_named(take_t *take, const char *path)
{
    const void *ctx = take->state;
    for (int links = 0; links < LINKS_MAX && path[0] == '/'; links++) {
        size_t existing;
        struct stat st;
        char *real = resolve_folders(ctx, path, &existing);
        if (real == NULL) {
            return;
        }
        if (lstat(real, &st) != 0) {
            add_named(take, real, existing, NULL);
            return;
        }
        add_named(take, real, existing, &st);
        char target[PATH_MAX];
        ssize_t len = S_ISLNK(st.st_mode) ? readlink(real, target, sizeof(target) - 1) : -1;
        if (len <= 0) {
            return;
        }
        target[len] = '\0';
        path = target[0] == '/'
                   ? ik_strdup(ctx, target)
                   : ik_sprintf(ctx, "%.*s/%s", (int)(strrchr(real, '/') - real), real, target);
    }
}

/* --- joining -------------------------------------------------------------------------------- */

/* Files that the last state covered stay covered, even if a rule ignores them now: otherwise a
 * change of the rules would look like their removal. Those that ikigai writes do not. */
static void find_no_longer_listed(take_t *take)
{
    ik_tree_t *tree = take->tree;
    size_t at = 0;
    for (size_t i = 0; i < take->known_count; i++) {
        const ik_entry_t *old = take->known[i].entry;
        int order = -1;
        while (at < tree->count && (order = ik_state_compare_paths(tree->files[at].entry.path,
                                                                   tree->files[at].entry.path_len,
                                                                   old->path, old->path_len)) < 0) {
            at++;
        }
        bool listed = at < tree->count && order == 0;
        bool file = old->kind == IK_ENTRY_FILE || old->kind == IK_ENTRY_LINK ||
                    old->kind == IK_ENTRY_UNKEPT;
        if (!file || old->path[0] == '/' ||
            (listed && (tree->files[at].own || tree->files[at].entry.kind != IK_ENTRY_IGNORED))) {
            continue;
        }
        struct stat st;
        const char *name;
        int folder = ik_safe_open_parent(take->place->root, old->path, &name);
        bool there = folder >= 0 && fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                     (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode));
        if (folder >= 0) {
            close(folder);
        }
        if (there) {
            char *path = ik_strndup(take->state, old->path, old->path_len);
            take->named =
                ik_resize_array(take->state, take->named, ik_tree_file_t, take->named_count + 1);
            ik_tree_file_t *added = &take->named[take->named_count++];
            *added = (ik_tree_file_t){.entry.path = path, .entry.path_len = old->path_len};
            ik_entry_set_stat(&added->entry, &st);
            added->entry.kind = S_ISREG(st.st_mode) ? IK_ENTRY_FILE : IK_ENTRY_LINK;
        }
    }
}

/* Joins the tree and the named files, sorted. A path that is in both is taken from the tree, unless
 * that ignores it. */
static ik_tree_file_t *join(take_t *take, size_t *count)
{
    static ik_tree_t none;
    const ik_tree_t *tree = take->tree == NULL ? &none : take->tree;
    if (take->named_count > 1) {
        qsort(take->named, take->named_count, sizeof(ik_tree_file_t), compare_files);
    }
    if (take->named_count == 0 && take->tree != NULL) {
        *count = tree->count;
        return take->tree->files;
    }
    ik_tree_file_t *files =
        ik_new_array(take->state, ik_tree_file_t, tree->count + take->named_count);
    size_t n = 0;
    size_t t = 0;
    for (size_t i = 0; i < take->named_count; i++) {
        const ik_tree_file_t *named = &take->named[i];
        if (n > 0 && i > 0 && compare_files(named, &take->named[i - 1]) == 0) {
            continue;
        }
        int order = 1;
        while (t < tree->count && (order = compare_files(&tree->files[t], named)) < 0) {
            files[n++] = tree->files[t++];
        }
        if (t < tree->count && order == 0) {
            bool ignored = tree->files[t].entry.kind == IK_ENTRY_IGNORED;
            files[n++] = ignored ? *named : tree->files[t];
            t++;
        } else {
            files[n++] = *named;
        }
    }
    while (t < tree->count) {
        files[n++] = tree->files[t++];
    }
    *count = n;
    return files;
}

/* --- the new state -------------------------------------------------------------------------- */

static bool same_content(const ik_entry_t *a, const ik_entry_t *b)
{
    return a->kind == b->kind && a->mode == b->mode && a->naming == b->naming &&
           memcmp(a->name, b->name, ik_naming_size(a->naming)) == 0 &&
           (a->naming != IK_NAMED_NOT || a->size == b->size);
}

/* Finds the contents of the files that are not known. */
static void find_contents(take_t *take, ik_tree_file_t *files, size_t count)
{
    size_t k = 0;
    size_t unknown = 0;
    uint64_t bytes = 0;
    bool *read = ik_new_array(take->state, bool, count);
    for (size_t i = 0; i < count; i++) {
        ik_entry_t *entry = &files[i].entry;
        if (entry->kind != IK_ENTRY_FILE && entry->kind != IK_ENTRY_LINK) {
            continue;
        }
        int order = 1;
        while (k < take->known_count &&
               (order = ik_state_compare_paths(take->known[k].entry->path,
                                               take->known[k].entry->path_len, entry->path,
                                               entry->path_len)) < 0) {
            k++;
        }
        read[i] = !(k < take->known_count && order == 0 &&
                    recall(take, entry, take->known[k].entry, take->known[k].owner,
                           take->base->verified_ns));
        for (size_t p = 0; p < take->request->previous_count && read[i]; p++) {
            const ik_state_t *previous = take->request->previous[p];
            const ik_state_t *owner;
            const ik_entry_t *old = previous == take->base ? NULL
                                                           : ik_state_find(previous, entry->path,
                                                                           entry->path_len, &owner);
            read[i] = old == NULL || !recall(take, entry, old, owner, previous->verified_ns);
        }
        if (read[i] && files[i].clean && name_by_object(take, &files[i], entry, files[i].measure)) {
            read[i] = false;
        }
        unknown += read[i];
        bool kept = entry->size <= take->place->max_bytes / SHARE;
        bytes += read[i] && kept ? entry->size : 0;
    }
    if (bytes / COMPRESSION_MAX > take->place->max_bytes) {
        take->beyond_bytes = true;
        return;
    }
    bool batch = unknown >= BATCH_MIN;
    if (batch && ik_contents_begin_batch(take->place->contents) != 0) {
        take->result =
            ERR(SYSTEM, "Cannot store contents in %s: %s", take->place->blobs, strerror(errno));
        return;
    }
    uint64_t before = ik_contents_added(take->place->contents);
    for (size_t i = 0; i < count && is_ok(&take->result); i++) {
        if (read[i]) {
            take->file = &files[i];
            look(take, &files[i].entry);
            take->file = NULL;
            if (ik_contents_added(take->place->contents) - before > take->place->max_bytes) {
                take->beyond_bytes = true;
                break;
            }
        }
    }
    if (batch && take->beyond_bytes) {
        ik_contents_drop_batch(take->place->contents);
    } else if (batch) {
        int error = ik_contents_end_batch(take->place->contents, false);
        if (error != 0) {
            take->result =
                ERR(SYSTEM, "Cannot store contents in %s: %s", take->place->blobs, strerror(error));
        }
    }
}

/* Fills the state with all entries, or with those that differ from the base. */
static void fill(take_t *take, ik_tree_file_t *files, size_t count, bool *changed, bool *same)
{
    ik_state_t *state = take->state;
    bool whole = take->base == NULL || take->tree == NULL || take->base->depth >= DEPTH_MAX;
    /* Most of it is not used, and memory that is not touched costs nothing. */
    ik_entry_t *entries = ik_resize_array(state, NULL, ik_entry_t, count + take->known_count);
    size_t n = 0;
    size_t k = 0;
    size_t file_count = 0;
    *changed = take->base == NULL;
    *same = take->base != NULL && take->tree != NULL;
    for (size_t i = 0; i <= count; i++) {
        const ik_entry_t *entry = i < count ? &files[i].entry : NULL;
        int order = 1;
        /* What is not listed any more. */
        for (; k < take->known_count; k++) {
            const ik_entry_t *old = take->known[k].entry;
            order = entry == NULL ? -1
                                  : ik_state_compare_paths(old->path, old->path_len, entry->path,
                                                           entry->path_len);
            if (order >= 0) {
                break;
            }
            if (is_object(old)) {
                keep_object(take, old, take->known[k].owner);
            }
            *changed |= old->kind != IK_ENTRY_IGNORED && old->kind != IK_ENTRY_EMPTY &&
                        old->kind != IK_ENTRY_ABSENT;
            *same = false;
            if (!whole) {
                entries[n] = (ik_entry_t){.path = old->path, .path_len = old->path_len};
                ik_entry_set_gone(&entries[n++]);
            }
        }
        if (entry == NULL) {
            break;
        }
        /* A named file that is not there says no more than the tree does. */
        file_count += entry->kind == IK_ENTRY_FILE || entry->kind == IK_ENTRY_LINK ||
                      entry->kind == IK_ENTRY_UNKEPT;
        bool known = k < take->known_count && order == 0;
        const ik_entry_t *old = known ? take->known[k].entry : NULL;
        bool content = known && same_content(old, entry);
        if (known && !content && is_object(old)) {
            keep_object(take, old, take->known[k].owner);
        }
        k += known;
        bool unchanged = content && ik_entry_same_stat(old, entry);
        *changed |= !content && entry->kind != IK_ENTRY_IGNORED && entry->kind != IK_ENTRY_EMPTY;
        *same &= unchanged;
        if (whole || !unchanged) {
            entries[n++] = *entry;
        }
    }
    if (!whole && n > count / 2) {
        take->base = NULL; /* a whole state is not much larger */
        bool ignored;
        bool kept = *changed;
        bool was_same = *same;
        talloc_free(entries);
        fill(take, files, count, &ignored, &ignored);
        *changed = kept;
        *same = was_same;
        return;
    }
    state->base = whole ? NULL : take->base;
    state->entries = entries;
    state->count = n;
    state->file_count = file_count;
}

static void set_taker(ik_state_t *state)
{
    state->taker = getppid();
    state->taker_started = ik_taker_start_time(state->taker);
}

/* The states that are known: the last one of the tree and its entries. */
static void find_base(take_t *take)
{
    const ik_take_request_t *request = take->request;
    for (size_t i = 0; i < request->previous_count; i++) {
        ik_state_t *previous = request->previous[i];
        if (previous->tree && strcmp(previous->folder, take->place->folder) == 0) {
            take->base = previous;
            take->base_given = true;
        }
    }
    char latest[IK_STATE_ID_SIZE];
    if (take->base == NULL) {
        ik_states_latest(take->place->states, take->place->folder, latest);
        if (latest[0] != '\0') {
            res_t result = ik_states_load(take->place->states, latest, &take->base);
            if (is_err(&result) || !take->base->tree ||
                strcmp(take->base->folder, take->place->folder) != 0) {
                take->base = NULL;
            }
        }
    }
    if (take->base != NULL) {
        take->known = ik_state_list(take->state, take->base, &take->known_count);
    }
}

/* Takes the state of the named files alone. */
static res_t take_named(take_t *take, ik_take_t *out)
{
    take->tree = NULL;
    take->state->tree = false;
    take->beyond_bytes = false;
    size_t count;
    ik_tree_file_t *files = join(take, &count);
    find_contents(take, files, count);
    take->base = NULL;
    take->known_count = 0;
    bool same;
    fill(take, files, count, &out->changed, &same);
    return take->result;
}

res_t ik_take_run(ik_place_t *place, const ik_take_request_t *request, ik_take_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    take_t take = {.place = place, .request = request, .store = true, .result = OK};
    take.singles = SINGLES_MAX;
    take.now_ns = nanoseconds(now);
    take.state = ik_states_add(place->states, place->folder, request->tree);
    take.state->verified_ns = take.now_ns;
    take.piece = ik_resize_array(take.state, NULL, char, WHOLE_MAX);
    set_taker(take.state);
    *out = (ik_take_t){0};
    for (size_t i = 0; i < request->path_count; i++) {
        look_at_named(&take, request->paths[i]);
    }
    bool same = false;
    /* What is written to a file with several names changes all of them. */
    take.state->tree = take.state->tree || take.linked;
    if (!take.state->tree) {
        TRY(take_named(&take, out));
    } else {
        find_base(&take);
        /* What the caller named; the others are added behind and sorted among them. */
        size_t asked_count = take.named_count;
        ik_tree_file_t *asked = ik_new_array(take.state, ik_tree_file_t, asked_count);
        for (size_t i = 0; i < asked_count; i++) {
            asked[i] = take.named[i];
        }
        /* If there was a folder before, a call removed it. */
        bool removed = place->error == ENOENT && take.base != NULL;
        take.tree =
            removed ? ik_new(take.state, ik_tree_t)
                    : ik_tree_walk_run(take.state, place->folder, &place->own, place->max_files);
        if (take.tree == NULL) {
            return ERR(SYSTEM, "Cannot read %s: %s", place->folder, strerror(errno));
        }
        size_t count = 0;
        ik_tree_file_t *files = NULL;
        if (!take.tree->too_many) {
            find_no_longer_listed(&take);
            files = join(&take, &count);
            find_contents(&take, files, count);
            TRY(take.result);
        }
        if (take.tree->too_many || take.beyond_bytes) {
            out->limit = take.beyond_bytes ? "undo_max_bytes" : "undo_max_files";
            take.named = asked;
            take.named_count = asked_count;
            TRY(take_named(&take, out));
        } else {
            fill(&take, files, count, &out->changed, &same);
        }
    }
    if (same && take.base_given) {
        out->state = take.base;
        ik_states_verified(place->states, take.base, take.now_ns);
        return OK;
    }
    TRY(ik_states_save(place->states, take.state));
    if (take.state->tree) {
        ik_states_set_latest(place->states, place->folder, take.state->id);
    }
    out->state = take.state;
    return OK;
}

/* The length of the longest part of a path that exists, without the slash. */
static size_t existing_part(ik_place_t *place, const char *path)
{
    char *part = ik_strdup(NULL, path);
    size_t found = 0;
    for (char *slash = strrchr(part, '/'); slash != NULL && slash > part;
         slash = strrchr(part, '/')) {
        *slash = '\0';
        const char *below = part;
        int at = ik_place_at(place, &below);
        int fd = ik_safe_open(at, below, O_PATH | O_DIRECTORY);
        if (fd >= 0) {
            close(fd);
            found = strlen(part);
            break;
        }
    }
    talloc_free(part);
    return found;
}

res_t ik_take_exact(ik_place_t *place, const char *const *paths, const ik_entry_t *const *known,
                    size_t count, ik_state_t **out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    ik_state_t *state = ik_states_add(place->states, place->folder, false);
    state->verified_ns = nanoseconds(now);
    set_taker(state);
    state->entries = ik_new_array(state, ik_entry_t, count);
    take_t take = {.place = place, .store = true, .result = OK};
    take.piece = ik_alloc_plain(WHOLE_MAX);
    for (size_t i = 0; i < count; i++) {
        ik_entry_t *entry = &state->entries[state->count++];
        bool take_over = known != NULL && known[i] != NULL;
        if (take_over) {
            *entry = *known[i];
        }
        entry->path = ik_strdup(state, paths[i]);
        entry->path_len = (uint32_t)strlen(paths[i]);
        if (!take_over) {
            look(&take, entry);
        }
        if (entry->kind == IK_ENTRY_SPECIAL && S_ISDIR(entry->mode)) {
            entry->kind = IK_ENTRY_ABSENT; /* what is in the folder has paths of its own */
        }
        if (entry->kind != IK_ENTRY_ABSENT) {
            state->file_count++;
        } else if (!take_over) {
            entry->size = existing_part(place, entry->path);
        }
    }
    free(take.piece);
    TRY(take.result);
    TRY(ik_states_save(place->states, state));
    *out = state;
    return OK;
}

#include "checkpoint/git_objects.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/random.h"
#include "checkpoint/blake2b.h"
#include "checkpoint/git_pack.h"

enum {
    ALTERNATES_MAX = 20, /* folders of objects of one repository */
    ALTERNATES_SIZE_MAX = 65536,
    PACKS_MAX = 2000,
    COPY_MAX = 8 << 20, /* of a file that cannot be linked */
    COPY_CHUNK = 65536,
};

typedef struct {
    char *name; /* "pack-…" */
    ik_git_pack_t *pack;
    bool kept;
} named_pack_t;

/* A folder of objects. */
typedef struct {
    int fd;     /* -1: it does not exist */
    bool links; /* in the blobs */
    bool packs_known;
    named_pack_t *packs;
    size_t pack_count;
    size_t last; /* the pack in which the last object was found */
    /* Whether there may be single objects with this first byte. */
    enum { UNKNOWN, THERE, MISSING } single[256];
} folder_t;

/* A repository: the links, its objects, its alternates. */
typedef struct {
    char key[33];
    char *path;
    size_t object_size;
    folder_t folders[2 + ALTERNATES_MAX];
    size_t count;
    char *links; /* the path of the folder with links */
} database_t;

struct ik_git_objects {
    char *path; /* BLOBS/git */
    database_t **databases;
    size_t count;
};

ik_git_objects_t *ik_git_objects_create(const void *ctx, const char *blobs)
{
    ik_git_objects_t *objects = ik_new(ctx, ik_git_objects_t);
    objects->path = ik_sprintf(objects, "%s/git", blobs);
    return objects;
}

void ik_git_objects_name(const char *path, char key[33])
{
    ik_blake2b_t hash;
    unsigned char name[IK_BLAKE2B_SIZE];
    ik_blake2b_init(&hash);
    ik_blake2b_update(&hash, path, strlen(path));
    ik_blake2b_finish(&hash, name);
    for (int i = 0; i < 16; i++) {
        snprintf(key + 2 * i, 3, "%02x", name[i]);
    }
}

/* --- folders --------------------------------------------------------------------------------- */

static int on_free(database_t *database)
{
    for (size_t i = 0; i < database->count; i++) {
        if (database->folders[i].fd >= 0) {
            close(database->folders[i].fd);
        }
    }
    return 0;
}

static void open_folder(database_t *database, const char *path, bool links)
{
    folder_t *folder = &database->folders[database->count++];
    folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    folder->links = links;
    folder->packs_known = false;
}

/* Opens the folders that info/alternates names, and those that these name. */
static void add_alternates(database_t *database, const char *path, int depth)
{
    void *scratch = talloc_new(NULL);
    char *text;
    size_t len;
    res_t result = ik_file_read(scratch, ik_sprintf(scratch, "%s/info/alternates", path),
                                ALTERNATES_SIZE_MAX, &text, &len);
    char *next = NULL;
    for (char *line = is_err(&result) ? NULL : strtok_r(text, "\n", &next);
         line != NULL && database->count < 2 + ALTERNATES_MAX; line = strtok_r(NULL, "\n", &next)) {
        if (line[0] == '#' || line[0] == '\0') {
            continue;
        }
        char *other = line[0] == '/' ? line : ik_sprintf(scratch, "%s/%s", path, line);
        open_folder(database, other, false);
        if (depth < 5) {
            add_alternates(database, other, depth + 1);
        }
    }
    talloc_free(scratch);
}

static database_t *open_database(ik_git_objects_t *objects, const ik_git_source_t *source)
{
    for (size_t i = 0; i < objects->count; i++) {
        if (strcmp(objects->databases[i]->path, source->path) == 0 &&
            objects->databases[i]->object_size == source->object_size) {
            return objects->databases[i];
        }
    }
    database_t *database = ik_new(objects, database_t);
    memcpy(database->key, source->key, sizeof(database->key));
    database->path = ik_strdup(database, source->path);
    database->object_size = source->object_size;
    database->links = ik_sprintf(database, "%s/%s", objects->path, source->key);
    talloc_set_destructor(database, on_free);
    open_folder(database, database->links, true);
    open_folder(database, source->path, false);
    add_alternates(database, source->path, 0);
    objects->databases =
        ik_resize_array(objects, objects->databases, database_t *, objects->count + 1);
    objects->databases[objects->count++] = database;
    return database;
}

static void find_packs(database_t *database, folder_t *folder)
{
    folder->packs_known = true;
    int fd = folder->fd < 0 ? -1
                            : openat(folder->fd, folder->links ? "." : "pack",
                                     O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    if (list == NULL) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(list)) != NULL;) {
        size_t len = strlen(entry->d_name);
        if (len < 5 || strcmp(entry->d_name + len - 4, ".idx") != 0 ||
            folder->pack_count == PACKS_MAX) {
            continue;
        }
        char *name = ik_strndup(database, entry->d_name, len - 4);
        ik_git_pack_t *pack = ik_git_pack_open(database, fd, name, database->object_size);
        if (pack != NULL) {
            folder->packs =
                ik_resize_array(database, folder->packs, named_pack_t, folder->pack_count + 1);
            folder->packs[folder->pack_count++] =
                (named_pack_t){.name = name, .pack = pack, .kept = folder->links};
        }
    }
    closedir(list);
}

static named_pack_t *find_in_packs(database_t *database, folder_t *folder,
                                   const unsigned char *name, uint64_t *offset)
{
    if (!folder->packs_known) {
        find_packs(database, folder);
    }
    for (size_t i = 0; i < folder->pack_count; i++) {
        size_t at = (folder->last + i) % folder->pack_count;
        if (ik_git_pack_find(folder->packs[at].pack, name, offset)) {
            folder->last = at;
            return &folder->packs[at];
        }
    }
    return NULL;
}

/* --- objects --------------------------------------------------------------------------------- */

/* Where an object is: in a pack or a file. */
typedef struct {
    folder_t *folder;
    named_pack_t *pack; /* NULL: a file */
    uint64_t offset;
    char hex[65];    /* of a file: its name */
    char single[80]; /* of a file: its path in the folder */
} found_t;

/* Whether the folder has the object as a file. With guess, it has if it has the folder of such
 * files. */
static bool find_single(folder_t *folder, const unsigned char *name, found_t *found, bool guess)
{
    if (folder->single[name[0]] == UNKNOWN) {
        char parent[3] = {found->hex[0], found->hex[1]};
        bool there = folder->links || faccessat(folder->fd, parent, F_OK, 0) == 0;
        folder->single[name[0]] = there ? THERE : MISSING;
    }
    if (folder->single[name[0]] == MISSING) {
        return false;
    }
    snprintf(found->single, sizeof(found->single), "%.2s%s%s", found->hex, folder->links ? "" : "/",
             found->hex + 2);
    return (guess && !folder->links) || faccessat(folder->fd, found->single, F_OK, 0) == 0;
}

static bool find(database_t *database, const unsigned char *name, found_t *found, bool guess)
{
    for (size_t i = 0; i < database->count; i++) {
        found->folder = &database->folders[i];
        found->pack = found->folder->fd < 0
                          ? NULL
                          : find_in_packs(database, found->folder, name, &found->offset);
        if (found->pack != NULL) {
            return true;
        }
    }
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < database->object_size; i++) {
        found->hex[2 * i] = digits[name[i] >> 4];
        found->hex[2 * i + 1] = digits[name[i] & 15];
    }
    found->hex[2 * database->object_size] = '\0';
    for (size_t i = 0; i < database->count; i++) {
        found->folder = &database->folders[i];
        if (found->folder->fd >= 0 && find_single(found->folder, name, found, guess)) {
            return true;
        }
    }
    return false;
}

static int open_single(const found_t *found)
{
    return openat(found->folder->fd, found->single, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* Reads from the folder where it was found. */
static bool read_found(const found_t *found, uint64_t size, ik_buffer_t *out)
{
    if (found->pack != NULL) {
        return ik_git_pack_read(found->pack->pack, found->offset, size, out);
    }
    int fd = open_single(found);
    bool good = fd >= 0 && ik_git_pack_read_single(fd, size, out);
    if (fd >= 0) {
        close(fd);
    }
    return good;
}

bool ik_git_objects_read(ik_git_objects_t *objects, const ik_git_source_t *source,
                         const unsigned char *name, uint64_t size, ik_buffer_t *out)
{
    found_t found;
    size_t before = out->len;
    if (!find(open_database(objects, source), name, &found, false) ||
        !read_found(&found, size, out)) {
        return false;
    }
    ik_buffer_append(out, "", 0);
    if (ik_git_pack_check(out->data + before, out->len - before, name, source->object_size)) {
        return true;
    }
    out->len = before;
    return false;
}

/* --- keeping --------------------------------------------------------------------------------- */

static int copy_small(int from, const char *name, int to, const char *temporary)
{
    struct stat st;
    int in = openat(from, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (in < 0 || fstat(in, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > COPY_MAX) {
        if (in >= 0) {
            close(in);
        }
        return EFBIG;
    }
    int out = openat(to, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    char *piece = ik_alloc_plain(COPY_CHUNK);
    int error = out < 0 ? errno : 0;
    for (ssize_t got = 1; got > 0 && error == 0;) {
        got = read(in, piece, COPY_CHUNK);
        if (got < 0 || (got > 0 && !ik_file_write_all(out, piece, (size_t)got))) {
            error = errno;
        }
    }
    free(piece);
    close(in);
    if (out >= 0) {
        close(out);
    }
    return error;
}

/* Links a file into the folder of links, or copies it when it is small. */
static bool keep_file(int from, const char *name, int to, const char *as)
{
    struct stat st;
    if (linkat(from, name, to, as, 0) == 0) {
        /* A link to a symbolic link keeps nothing. */
        if (fstatat(to, as, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
            return true;
        }
        unlinkat(to, as, 0);
    } else if (errno == EEXIST) {
        return true;
    }
    char random[17];
    char temporary[32];
    ik_random_name(random, 16);
    snprintf(temporary, sizeof(temporary), "new-%s", random);
    if (copy_small(from, name, to, temporary) == 0 && renameat(to, temporary, to, as) == 0) {
        return true;
    }
    unlinkat(to, temporary, 0);
    return false;
}

/* The folder of links, which is made where it is missing; -1 when that fails. */
static int open_links(database_t *database)
{
    folder_t *links = &database->folders[0];
    if (links->fd < 0) {
        res_t made = ik_file_make_private_folder(database->links);
        if (is_ok(&made)) {
            links->fd = open(database->links, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        }
        /* What is linked from now on need not be found there. */
        links->packs_known = true;
        for (size_t i = 0; i < IK_LENGTH(links->single); i++) {
            links->single[i] = MISSING;
        }
    }
    return links->fd;
}

static void keep_pack(database_t *database, const found_t *found)
{
    named_pack_t *pack = found->pack;
    pack->kept = true; /* or it cannot be */
    int to = open_links(database);
    if (to < 0) {
        return;
    }
    char from_name[NAME_MAX + 32];
    /* The index comes last: a pack without one does not exist for readers. */
    static const char *const parts[] = {"pack", "idx"};
    for (int i = 0; i < 2; i++) {
        snprintf(from_name, sizeof(from_name), "pack/%s.%s", pack->name, parts[i]);
        if (!keep_file(found->folder->fd, from_name, to, from_name + strlen("pack/"))) {
            break;
        }
    }
}

static void keep_object(database_t *database, const found_t *found, size_t *singles)
{
    if (found->folder->links || (found->pack != NULL && found->pack->kept)) {
        return;
    }
    if (found->pack != NULL) {
        keep_pack(database, found);
    } else if (*singles > 0) {
        --*singles;
        int to = open_links(database);
        if (to >= 0) {
            keep_file(found->folder->fd, found->single, to, found->hex);
        }
    }
}

bool ik_git_objects_find(ik_git_objects_t *objects, const ik_git_source_t *source,
                         const unsigned char *name, const uint64_t *size, size_t *singles,
                         bool guess)
{
    found_t found;
    uint64_t has;
    bool good = true;
    database_t *database = open_database(objects, source);
    if (!find(database, name, &found, guess)) {
        return false;
    }
    if (found.pack == NULL && *singles == 0) {
        size = NULL; /* opening thousands of files would take longer than reading them */
    }
    if (size != NULL && found.pack != NULL) {
        good = ik_git_pack_measure(found.pack->pack, found.offset, &has) && has == *size;
    } else if (size != NULL) {
        int fd = open_single(&found);
        good = fd >= 0 && ik_git_pack_measure_single(fd, &has) && has == *size;
        if (fd >= 0) {
            close(fd);
        }
    }
    if (good) {
        keep_object(database, &found, singles);
    }
    return good;
}

/* --- sweeping -------------------------------------------------------------------------------- */

/* Adds up the files below a folder that have no other link, and removes them with remove. */
static uint64_t measure(int at, const char *name, bool remove, int depth)
{
    uint64_t total = 0;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    for (const struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;) {
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            continue;
        }
        if (S_ISDIR(st.st_mode)) {
            total += depth < 4 ? measure(fd, entry->d_name, remove, depth + 1) : 0;
            continue;
        }
        total += st.st_nlink == 1 ? (uint64_t)st.st_size : 0;
        if (remove) {
            unlinkat(fd, entry->d_name, 0);
        }
    }
    if (list != NULL) {
        closedir(list);
    }
    if (remove) {
        unlinkat(at, name, AT_REMOVEDIR);
    }
    return total;
}

uint64_t ik_git_objects_total(ik_git_objects_t *objects)
{
    return measure(AT_FDCWD, objects->path, false, 0);
}

uint64_t ik_git_objects_sweep(ik_git_objects_t *objects, ik_git_objects_keep_fn keep, void *data)
{
    uint64_t freed = 0;
    int fd = open(objects->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    for (const struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;) {
        if (entry->d_name[0] != '.' && !keep(data, entry->d_name)) {
            freed += measure(fd, entry->d_name, true, 0);
        }
    }
    if (list != NULL) {
        closedir(list);
    }
    return freed;
}

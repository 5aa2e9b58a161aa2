#include "tools/grep/grep_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tools/common/dir_list.h"
#include "tools/grep/ignore.h"

enum { FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK };

/* The rules of one file, which folders below share. */
typedef struct rules {
    atomic_int users;
    struct rules *outer;
    ik_ignore_t *ignore;
} rules_t;

struct ik_grep_folder {
    atomic_int users;
    int fd;
    rules_t *rules;
    char *path;     /* as shown: "" or ending in a slash */
    char *inside;   /* from the outermost folder whose rules count; likewise */
    size_t top_len; /* what of path belongs to the top folder */
};

/* --- rules ------------------------------------------------------------------------------- */

static rules_t *hold_rules(rules_t *rules)
{
    if (rules != NULL) {
        atomic_fetch_add_explicit(&rules->users, 1, memory_order_relaxed);
    }
    return rules;
}

static void release_rules(rules_t *rules)
{
    while (rules != NULL && atomic_fetch_sub(&rules->users, 1) == 1) {
        rules_t *outer = rules->outer;
        talloc_free(rules);
        rules = outer;
    }
}

static void read_all(int fd, ik_buffer_t *out)
{
    for (;;) {
        size_t room = ik_buffer_reserve(out, 4096);
        ssize_t got = read(fd, out->data + out->len, room);
        if (got > 0) {
            out->len += (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            return;
        }
    }
}

/* Adds the rules of the .gitignore in the folder fd to outer, which is given up. Without such a
 * file, outer itself. git does not follow a symbolic link here either. */
static rules_t *add_rules(int fd, size_t base_len, rules_t *outer)
{
    int file = openat(fd, ".gitignore", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) {
        return outer;
    }
    rules_t *rules = ik_new(NULL, rules_t);
    ik_buffer_t text;
    ik_buffer_init(&text, rules, IK_BUFFER_UNLIMITED);
    read_all(file, &text);
    close(file);
    atomic_init(&rules->users, 1);
    rules->outer = outer;
    rules->ignore =
        ik_ignore_parse(rules, text.data, text.len, base_len, outer == NULL ? NULL : outer->ignore);
    ik_buffer_reset(&text);
    return rules;
}

/* --- opening ----------------------------------------------------------------------------- */

/* Folders stay open while entries of theirs wait, so a deep tree may need more descriptors than
 * the soft limit allows. */
static bool raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) {
        return false;
    }
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static int open_folder(int at, const char *name, int flags)
{
    int fd = openat(at, name, FOLDER_FLAGS | flags);
    if (fd < 0 && errno == EMFILE && raise_descriptor_limit()) {
        fd = openat(at, name, FOLDER_FLAGS | flags);
    }
    return fd;
}

static ik_grep_folder_t *new_folder(int fd)
{
    ik_grep_folder_t *folder = ik_new(NULL, ik_grep_folder_t);
    atomic_init(&folder->users, 1);
    folder->fd = fd;
    return folder;
}

/* How long the root of the repository around the absolute path is; 0 when there is none. */
static size_t repository_root(char *path)
{
    for (size_t len = strlen(path);; len--) {
        if (path[len] != '\0' && path[len] != '/') {
            continue;
        }
        char *probe = ik_sprintf(NULL, "%.*s/.git", (int)len, path);
        bool found = access(probe, F_OK) == 0;
        talloc_free(probe);
        if (found) {
            return len == 0 ? 1 : len;
        }
        if (len == 0) {
            return 0;
        }
    }
}

/* The end of the component of path behind len. */
static size_t next_level(const char *path, size_t len)
{
    len += path[len] == '/';
    return len + strcspn(path + len, "/");
}

/* The rules of the folders from the repository's root down to the one above path. */
static rules_t *rules_above(const char *path, size_t root)
{
    rules_t *rules = NULL;
    for (size_t len = root; path[len] != '\0'; len = next_level(path, len)) {
        char *level = ik_strndup(NULL, path, len);
        int fd = open(level, FOLDER_FLAGS);
        talloc_free(level);
        if (fd >= 0) {
            size_t inside = len == root ? 0 : len - root + (root == 1);
            rules = add_rules(fd, inside, rules);
            close(fd);
        }
    }
    return rules;
}

/* The rules around the top folder, and its path within the repository. */
static void look_around(ik_grep_folder_t *folder, const char *path)
{
    char *real = realpath(path, NULL);
    size_t root = real == NULL ? 0 : repository_root(real);
    if (root > 0 && real[root] != '\0') {
        folder->rules = rules_above(real, root);
        folder->inside = ik_sprintf(folder, "%s/", real + root + (root > 1));
    }
    free(real);
}

ik_grep_folder_t *ik_grep_folder_open_top(const ik_grep_walk_t *walk)
{
    const char *path = walk->path[0] == '\0' ? "." : walk->path;
    int fd = open_folder(AT_FDCWD, path, 0);
    if (fd < 0) {
        return NULL;
    }
    ik_grep_folder_t *folder = new_folder(fd);
    size_t len = strlen(walk->path);
    bool add_slash = len > 0 && walk->path[len - 1] != '/';
    folder->path = ik_sprintf(folder, "%s%s", walk->path, add_slash ? "/" : "");
    folder->top_len = strlen(folder->path);
    folder->inside = ik_strdup(folder, "");
    if (!walk->no_ignore) {
        look_around(folder, path);
    }
    return folder;
}

ik_grep_folder_t *ik_grep_folder_open(const ik_grep_folder_t *parent, const char *name)
{
    int fd = open_folder(parent->fd, name, O_NOFOLLOW);
    if (fd < 0) {
        return NULL;
    }
    ik_grep_folder_t *folder = new_folder(fd);
    folder->path = ik_sprintf(folder, "%s%s/", parent->path, name);
    folder->inside = ik_sprintf(folder, "%s%s/", parent->inside, name);
    folder->top_len = parent->top_len;
    folder->rules = hold_rules(parent->rules);
    return folder;
}

ik_grep_folder_t *ik_grep_folder_hold(ik_grep_folder_t *folder)
{
    atomic_fetch_add_explicit(&folder->users, 1, memory_order_relaxed);
    return folder;
}

void ik_grep_folder_release(ik_grep_folder_t *folder)
{
    if (folder != NULL && atomic_fetch_sub(&folder->users, 1) == 1) {
        release_rules(folder->rules);
        close(folder->fd);
        talloc_free(folder);
    }
}

const char *ik_grep_folder_path(const ik_grep_folder_t *folder)
{
    return folder->path;
}

int ik_grep_folder_fd(const ik_grep_folder_t *folder)
{
    return folder->fd;
}

/* --- listing ----------------------------------------------------------------------------- */

/* Looks for what concerns the rules; only files the listing shows are opened. */
static void update_rules(ik_grep_folder_t *folder, const ik_buffer_t *records)
{
    bool repository = false;
    bool rules = false;
    size_t position = 0;
    ik_dir_entry_t entry;
    while (ik_dir_list_next(records, &position, records->len, &entry)) {
        if (entry.name[0] == '.' && entry.name[1] == 'g') {
            repository |= strcmp(entry.name, ".git") == 0;
            rules |= strcmp(entry.name, ".gitignore") == 0;
        }
    }
    if (repository) {
        release_rules(folder->rules);
        folder->rules = NULL;
    }
    if (rules) {
        folder->rules = add_rules(folder->fd, strlen(folder->inside), folder->rules);
    }
}

static unsigned char entry_type(const ik_grep_folder_t *folder, const ik_dir_entry_t *entry)
{
    struct stat st;
    if (entry->type != DT_UNKNOWN ||
        fstatat(folder->fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return entry->type;
    }
    return (unsigned char)IFTODT(st.st_mode);
}

typedef struct {
    const ik_grep_folder_t *folder;
    const ik_grep_walk_t *walk;
    ik_buffer_t path; /* the folder's path for the rules, and room for a name */
    size_t folder_len;
} sieve_t;

static bool is_excluded(sieve_t *sieve, const ik_dir_entry_t *entry, bool is_folder)
{
    if (sieve->folder->rules == NULL) {
        return false;
    }
    sieve->path.len = sieve->folder_len;
    ik_buffer_append(&sieve->path, entry->name, entry->len);
    return ik_ignore_excludes(sieve->folder->rules->ignore, sieve->path.data, sieve->path.len,
                              sieve->folder_len, is_folder);
}

static bool is_wanted(sieve_t *sieve, const ik_dir_entry_t *entry, bool *is_folder)
{
    bool hidden = entry->name[0] == '.' && !sieve->walk->no_ignore;
    if (hidden || ik_dir_list_is_dots(entry)) {
        return false;
    }
    unsigned char type = entry_type(sieve->folder, entry);
    *is_folder = type == DT_DIR;
    if (type != DT_DIR && type != DT_REG) {
        return false;
    }
    const char *below = sieve->folder->path + sieve->folder->top_len;
    if (type == DT_REG && !ik_grep_filter_accepts(sieve->walk->filter, below, entry->name)) {
        return false;
    }
    return !is_excluded(sieve, entry, *is_folder);
}

static int compare_entries(const void *left, const void *right)
{
    const ik_grep_entry_t *a = left;
    const ik_grep_entry_t *b = right;
    size_t shorter = a->len < b->len ? a->len : b->len;
    int order = memcmp(a->name, b->name, shorter);
    if (order != 0) {
        return order;
    }
    unsigned char next_a = a->len > shorter ? (unsigned char)a->name[shorter] : a->is_folder * '/';
    unsigned char next_b = b->len > shorter ? (unsigned char)b->name[shorter] : b->is_folder * '/';
    return next_a - next_b;
}

static void add_entry(ik_grep_entries_t *entries, const void *ctx, const ik_dir_entry_t *entry,
                      bool is_folder)
{
    if (entries->count == entries->room) {
        entries->room = entries->room == 0 ? 256 : entries->room * 2;
        entries->items = ik_resize_array(ctx, entries->items, ik_grep_entry_t, entries->room);
    }
    entries->items[entries->count++] =
        (ik_grep_entry_t){.name = entry->name, .len = entry->len, .is_folder = is_folder};
}

void ik_grep_folder_list(ik_grep_folder_t *folder, const ik_grep_walk_t *walk, const void *ctx,
                         ik_buffer_t *records, ik_grep_entries_t *entries)
{
    records->len = 0;
    entries->count = 0;
    ik_dir_list_read(folder->fd, records);
    if (!walk->no_ignore) {
        update_rules(folder, records);
    }
    sieve_t sieve = {.folder = folder, .walk = walk, .folder_len = strlen(folder->inside)};
    ik_buffer_init(&sieve.path, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append(&sieve.path, folder->inside, sieve.folder_len);
    size_t position = 0;
    ik_dir_entry_t entry;
    while (ik_dir_list_next(records, &position, records->len, &entry)) {
        bool is_folder;
        if (is_wanted(&sieve, &entry, &is_folder)) {
            add_entry(entries, ctx, &entry, is_folder);
        }
    }
    ik_buffer_reset(&sieve.path);
    if (entries->count > 1) {
        qsort(entries->items, entries->count, sizeof(ik_grep_entry_t), compare_entries);
    }
}

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
#include "base/dir_list.h"
#include "base/ignore.h"

enum {
    FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK,
    RULES_SIZE_MAX = 1024 * 1024, /* of one ignore file */
    LINK_SIZE_MAX = 4096,         /* of the .git file of a worktree or submodule */
};

/* The kinds of ignore files, by precedence: a later kind is asked only if no earlier one decides.
 */
typedef enum {
    RULES_RG,
    RULES_IGNORE,
    RULES_GIT, /* with .git/info/exclude as its outermost file */
    RULES_KINDS,
} rules_kind_t;

static const char *const rules_names[RULES_KINDS] = {".rgignore", ".ignore", ".gitignore"};

/* The rules of one file, shared by the folders below it. */
typedef struct rules {
    atomic_int users;
    struct rules *outer;
    ik_ignore_t *ignore;
} rules_t;

struct ik_grep_folder {
    atomic_int users;
    int fd;
    rules_t *rules[RULES_KINDS];
    bool in_repository; /* .gitignore files apply */
    bool named;         /* excluded, but named by the filter: ignore rules do not apply */
    char *path;         /* for the output: "" or ending in a slash */
    char *inside;       /* for the rules: from the root, "" or ending in a slash */
    size_t top_len;     /* length of the top folder's path in path */
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

/* Appends the file's text. Returns 0 or an errno value; EFBIG when it is longer than max. */
static int read_small(int fd, size_t max, ik_buffer_t *out)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        return EINVAL;
    }
    while (out->len <= max) {
        size_t room = ik_buffer_reserve(out, 4096);
        ssize_t got = read(fd, out->data + out->len, room);
        if (got > 0) {
            out->len += (size_t)got;
        } else if (got == 0) {
            return 0;
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return EFBIG;
}

/* Adds the rules of a file in the folder fd to *rules, if it exists. Callers pass O_NOFOLLOW for
 * .gitignore, because git does not follow symbolic links to it. */
static void add_rules(rules_t **rules, int fd, const char *name, int flags, size_t base_len,
                      const char *shown, ik_grep_report_t *report)
{
    int file = openat(fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
    if (file < 0) {
        ik_grep_report_failure(report, "file", shown, name, errno == ENOTDIR ? ENOENT : errno);
        return;
    }
    ik_buffer_t text;
    ik_buffer_init(&text, NULL, IK_BUFFER_UNLIMITED); /* read_small has a limit */
    int error = read_small(file, RULES_SIZE_MAX, &text);
    close(file);
    if (error != 0) {
        ik_grep_report_failure(report, "file", shown, name, error);
    } else {
        rules_t *added = ik_new(NULL, rules_t);
        atomic_init(&added->users, 1);
        added->outer = *rules;
        added->ignore = ik_ignore_parse(added, text.data, text.len, base_len,
                                        *rules == NULL ? NULL : (*rules)->ignore);
        *rules = added;
    }
    ik_buffer_reset(&text);
}

/* Opens the folder named by a file in the folder at, after prefix on its first line; -1 if there is
 * none. */
static int follow_link_file(int at, const char *name, const char *prefix)
{
    int file = openat(at, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return -1;
    }
    ik_buffer_t text;
    ik_buffer_init(&text, NULL, IK_BUFFER_UNLIMITED); /* read_small has a limit */
    int folder = -1;
    size_t prefix_len = strlen(prefix);
    if (read_small(file, LINK_SIZE_MAX, &text) == 0 && text.len > prefix_len &&
        memcmp(text.data, prefix, prefix_len) == 0) {
        text.data[text.len] = '\0';
        text.data[strcspn(text.data, "\r\n")] = '\0';
        folder = openat(at, text.data + prefix_len, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    close(file);
    ik_buffer_reset(&text);
    return folder;
}

/* Adds info/exclude of the repository whose root is the folder fd. In a worktree or submodule, .git
 * is a file that names the repository. */
static void add_repository_rules(rules_t **rules, int fd, size_t base_len, const char *shown,
                                 ik_grep_report_t *report)
{
    int git = follow_link_file(fd, ".git", "gitdir: ");
    if (git < 0) {
        add_rules(rules, fd, ".git/info/exclude", 0, base_len, shown, report);
        return;
    }
    int common = follow_link_file(git, "commondir", "");
    add_rules(rules, common < 0 ? git : common, "info/exclude", 0, base_len, shown, report);
    if (common >= 0) {
        close(common);
    }
    close(git);
}

/* --- opening ----------------------------------------------------------------------------- */

/* A folder stays open while its entries wait, so a deep tree may need more descriptors than the
 * soft limit allows. */
static bool raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) {
        return false;
    }
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static int open_at(int at, const char *name, int flags)
{
    int fd = openat(at, name, flags);
    if (fd < 0 && errno == EMFILE && raise_descriptor_limit()) {
        fd = openat(at, name, flags);
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

/* The length of the repository root within the absolute path; 0: not in a repository. */
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

/* The end of the component of path after len. */
static size_t next_level(const char *path, size_t len)
{
    len += path[len] == '/';
    return len + strcspn(path + len, "/");
}

/* Adds the rules of the folders above the absolute path: .ignore and .rgignore of all of them, and
 * .gitignore from the root of the repository on. */
static void add_rules_above(ik_grep_folder_t *folder, const char *path, size_t repository,
                            ik_grep_report_t *report)
{
    for (size_t len = 1; path[len] != '\0'; len = next_level(path, len)) {
        char *level = ik_sprintf(NULL, "%.*s/", (int)(len == 1 ? 0 : len), path);
        int fd = open(level, O_PATH | O_DIRECTORY | O_CLOEXEC);
        size_t inside = len == 1 ? 0 : len;
        bool in_repository = repository > 0 && len >= repository;
        if (fd >= 0 && len == repository) {
            add_repository_rules(&folder->rules[RULES_GIT], fd, inside, level, report);
        }
        for (int kind = 0; kind < RULES_KINDS && fd >= 0; kind++) {
            if (kind != RULES_GIT || in_repository) {
                add_rules(&folder->rules[kind], fd, rules_names[kind],
                          kind == RULES_GIT ? O_NOFOLLOW : 0, inside, level, report);
            }
        }
        if (fd >= 0) {
            close(fd);
        }
        talloc_free(level);
    }
}

/* Sets the rules that apply to the top folder, and its path from the root. */
static void look_around(ik_grep_folder_t *folder, const char *path, ik_grep_report_t *report)
{
    char *real = realpath(path, NULL);
    if (real == NULL) {
        return;
    }
    if (real[1] != '\0') {
        size_t repository = repository_root(real);
        folder->in_repository = repository > 0;
        add_rules_above(folder, real, repository, report);
        folder->inside = ik_sprintf(folder, "%s/", real + 1);
    }
    free(real);
}

ik_grep_folder_t *ik_grep_folder_open_top(const ik_grep_walk_t *walk)
{
    const char *path = walk->path[0] == '\0' ? "." : walk->path;
    int fd = open_at(AT_FDCWD, path, FOLDER_FLAGS);
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
        look_around(folder, path, walk->report);
    }
    return folder;
}

ik_grep_folder_t *ik_grep_folder_open(const ik_grep_folder_t *parent, const char *name, bool named)
{
    int fd = open_at(parent->fd, name, FOLDER_FLAGS | O_NOFOLLOW);
    if (fd < 0) {
        return NULL;
    }
    ik_grep_folder_t *folder = new_folder(fd);
    folder->path = ik_sprintf(folder, "%s%s/", parent->path, name);
    folder->inside = ik_sprintf(folder, "%s%s/", parent->inside, name);
    folder->top_len = parent->top_len;
    folder->in_repository = parent->in_repository;
    folder->named = parent->named || named;
    for (int kind = 0; kind < RULES_KINDS; kind++) {
        folder->rules[kind] = hold_rules(parent->rules[kind]);
    }
    return folder;
}

int ik_grep_folder_open_file(const ik_grep_folder_t *folder, const char *name, int flags)
{
    return open_at(folder->fd, name, flags);
}

ik_grep_folder_t *ik_grep_folder_hold(ik_grep_folder_t *folder)
{
    atomic_fetch_add_explicit(&folder->users, 1, memory_order_relaxed);
    return folder;
}

void ik_grep_folder_release(ik_grep_folder_t *folder)
{
    if (folder != NULL && atomic_fetch_sub(&folder->users, 1) == 1) {
        for (int kind = 0; kind < RULES_KINDS; kind++) {
            release_rules(folder->rules[kind]);
        }
        close(folder->fd);
        talloc_free(folder);
    }
}

const char *ik_grep_folder_path(const ik_grep_folder_t *folder)
{
    return folder->path;
}

/* --- listing ----------------------------------------------------------------------------- */

/* Reads the ignore files of the folder, and .git, if they are in the listing. */
static void update_rules(ik_grep_folder_t *folder, const ik_buffer_t *records,
                         ik_grep_report_t *report)
{
    bool repository = false;
    bool present[RULES_KINDS] = {false};
    size_t position = 0;
    ik_dir_entry_t entry;
    while (ik_dir_list_next(records, &position, records->len, &entry)) {
        if (entry.name[0] != '.') {
            continue;
        }
        repository |= strcmp(entry.name, ".git") == 0;
        for (int kind = 0; kind < RULES_KINDS; kind++) {
            present[kind] |= strcmp(entry.name, rules_names[kind]) == 0;
        }
    }
    size_t base_len = strlen(folder->inside);
    if (repository) {
        release_rules(folder->rules[RULES_GIT]);
        folder->rules[RULES_GIT] = NULL;
        folder->in_repository = true;
        add_repository_rules(&folder->rules[RULES_GIT], folder->fd, base_len, folder->path, report);
    }
    present[RULES_GIT] &= folder->in_repository;
    for (int kind = 0; kind < RULES_KINDS; kind++) {
        if (present[kind]) {
            add_rules(&folder->rules[kind], folder->fd, rules_names[kind],
                      kind == RULES_GIT ? O_NOFOLLOW : 0, base_len, folder->path, report);
        }
    }
}

typedef struct {
    const ik_grep_folder_t *folder;
    const ik_grep_walk_t *walk;
    ik_buffer_t path; /* folder->inside followed by the name of an entry */
    size_t folder_len;
    size_t skipped_files;
    size_t skipped_folders;
} sieve_t;

static unsigned char entry_type(const sieve_t *sieve, const ik_dir_entry_t *entry)
{
    struct stat st;
    if (entry->type != DT_UNKNOWN) {
        return entry->type;
    }
    if (fstatat(sieve->folder->fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        ik_grep_report_failure(sieve->walk->report, "file", sieve->folder->path, entry->name,
                               errno);
        return DT_UNKNOWN;
    }
    return (unsigned char)IFTODT(st.st_mode);
}

static bool is_excluded(sieve_t *sieve, const ik_dir_entry_t *entry, bool is_folder)
{
    const ik_grep_folder_t *folder = sieve->folder;
    for (int kind = 0; kind < RULES_KINDS && !folder->named; kind++) {
        if (folder->rules[kind] == NULL) {
            continue;
        }
        sieve->path.len = sieve->folder_len;
        ik_buffer_append(&sieve->path, entry->name, entry->len);
        ik_ignore_verdict_t verdict =
            ik_ignore_decide(folder->rules[kind]->ignore, sieve->path.data, sieve->path.len,
                             sieve->folder_len, is_folder);
        if (verdict != IK_IGNORE_UNDECIDED) {
            return verdict == IK_IGNORE_EXCLUDED;
        }
    }
    return false;
}

/* Whether to search the entry; fills *item if so. */
static bool is_wanted(sieve_t *sieve, const ik_dir_entry_t *entry, ik_grep_entry_t *item)
{
    if (ik_dir_list_is_dots(entry)) {
        return false;
    }
    const ik_grep_filter_t *filter = sieve->walk->filter;
    const char *below = sieve->folder->path + sieve->folder->top_len;
    unsigned char type = entry_type(sieve, entry);
    bool is_folder = type == DT_DIR;
    bool accepted =
        is_folder || (type == DT_REG && ik_grep_filter_accepts(filter, below, entry->name));
    if (!accepted) {
        return false;
    }
    bool hidden = entry->name[0] == '.' && !sieve->walk->no_ignore;
    bool excluded = is_excluded(sieve, entry, is_folder);
    *item = (ik_grep_entry_t){.name = entry->name,
                              .len = entry->len,
                              .is_folder = is_folder,
                              .named = is_folder && excluded};
    if ((!hidden && !excluded) ||
        ik_grep_filter_names(filter, below, entry->name, is_folder, hidden)) {
        return true;
    }
    sieve->skipped_files += !is_folder;
    sieve->skipped_folders += is_folder && strcmp(entry->name, ".git") != 0;
    return false;
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

static void add_entry(ik_grep_entries_t *entries, const void *ctx, const ik_grep_entry_t *item)
{
    if (entries->count == entries->room) {
        entries->room = entries->room == 0 ? 256 : entries->room * 2;
        entries->items = ik_resize_array(ctx, entries->items, ik_grep_entry_t, entries->room);
    }
    entries->items[entries->count++] = *item;
}

int ik_grep_folder_list(ik_grep_folder_t *folder, const ik_grep_walk_t *walk, const void *ctx,
                        ik_buffer_t *records, ik_grep_entries_t *entries)
{
    records->len = 0;
    entries->count = 0;
    int error = ik_dir_list_read(folder->fd, records);
    if (!walk->no_ignore && !folder->named) {
        update_rules(folder, records, walk->report);
    }
    sieve_t sieve = {.folder = folder, .walk = walk, .folder_len = strlen(folder->inside)};
    ik_buffer_init(&sieve.path, ctx, IK_BUFFER_UNLIMITED); /* one path */
    ik_buffer_append(&sieve.path, folder->inside, sieve.folder_len);
    size_t position = 0;
    ik_dir_entry_t entry;
    ik_grep_entry_t item;
    while (ik_dir_list_next(records, &position, records->len, &entry)) {
        if (is_wanted(&sieve, &entry, &item)) {
            add_entry(entries, ctx, &item);
        }
    }
    ik_buffer_reset(&sieve.path);
    ik_grep_report_skipped(walk->report, sieve.skipped_files, sieve.skipped_folders);
    if (entries->count > 1) {
        qsort(entries->items, entries->count, sizeof(ik_grep_entry_t), compare_entries);
    }
    return error;
}

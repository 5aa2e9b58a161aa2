#include "checkpoint/tree_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/dir_list.h"

enum {
    RULES_SIZE_MAX = 1024 * 1024,
    ARENA_CHUNK = 1 << 16,
    DEPTH_MAX = 2000,
    AHEAD_MIN = 2000, /* tracked files for which several threads are worth starting */
    AHEAD_CHUNK = 256,
    AHEAD_THREADS = 8,
    FILES_LIMIT = 2 << 20, /* beyond this an array would be larger than talloc allows */
    UNCOVERED_FACTOR = 4,  /* ignored entries that are listed, as a multiple of max_files */
    FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW,
};

typedef struct {
    const char *name;
    size_t offset; /* of the name in the records, which move when more are read */
    size_t len;
    bool is_folder;
} child_t;

typedef struct {
    ik_tree_t *tree;
    size_t room;
    size_t max_files;
    ik_buffer_t records; /* of the folders being read, as a stack */
    ik_buffer_t path;    /* absolute */
    size_t folder_len;   /* what of it is the folder, with its slash */
    char *arena;
    size_t arena_left;
    int depth;
    const char *home; /* of ikigai; NULL: there is none */
    /* The status of the tracked files of a repository, found by several threads. */
    const ik_git_repository_t *ahead_of;
    struct stat *ahead; /* of the entries of its index from ahead_first on; mode 0: not known */
    size_t ahead_first;
    size_t ahead_count;
    size_t last; /* entry of the index of ahead_of that was looked up last */
} walk_t;

/* What holds in one folder. */
typedef struct {
    const ik_git_repository_t *repository;
    size_t root_len; /* what of the path is the root of the repository, with its slash */
    ik_ignore_t *ignore;
    ik_ignore_t *conversions;
    int64_t attributes_ctime_ns; /* when the attributes changed last */
    bool ignored;                /* only tracked files count */
} scope_t;

static char *keep_path(walk_t *walk, const char *path, size_t len)
{
    if (walk->arena_left < len + 1) {
        walk->arena_left = len + 1 > ARENA_CHUNK ? len + 1 : ARENA_CHUNK;
        walk->arena = ik_resize_array(walk->tree, NULL, char, walk->arena_left);
    }
    char *kept = walk->arena;
    memcpy(kept, path, len);
    kept[len] = '\0';
    walk->arena += len + 1;
    walk->arena_left -= len + 1;
    return kept;
}

static ik_tree_file_t *add(walk_t *walk, ik_entry_kind_t kind)
{
    ik_tree_t *tree = walk->tree;
    bool covered = kind == IK_ENTRY_FILE || kind == IK_ENTRY_LINK;
    if ((covered && tree->covered == walk->max_files) || tree->count >= FILES_LIMIT ||
        tree->count - tree->covered > UNCOVERED_FACTOR * walk->max_files) {
        tree->too_many = true;
        return NULL;
    }
    if (tree->count == walk->room) {
        walk->room = walk->room == 0 ? 256 : walk->room * 2;
        tree->files = ik_resize_array(tree, tree->files, ik_tree_file_t, walk->room);
    }
    ik_tree_file_t *file = &tree->files[tree->count++];
    *file = (ik_tree_file_t){.entry.kind = kind};
    file->entry.path_len = (uint32_t)(walk->path.len - walk->folder_len);
    file->entry.path =
        keep_path(walk, walk->path.data + walk->folder_len, walk->path.len - walk->folder_len);
    tree->covered += covered;
    return file;
}

/* --- rules --------------------------------------------------------------------------------- */

/* Appends the text of a regular file that is not a link; false when there is none. *st is filled.
 */
static bool read_rules(int fd, const char *name, ik_buffer_t *text, struct stat *st)
{
    int file = openat(fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (file < 0) {
        return false;
    }
    bool usable = fstat(file, st) == 0 && S_ISREG(st->st_mode);
    while (usable && text->len <= RULES_SIZE_MAX) {
        size_t room = ik_buffer_reserve(text, 4096);
        ssize_t got = read(file, text->data + text->len, room);
        if (got <= 0) {
            usable = got == 0;
            break;
        }
        text->len += (size_t)got;
    }
    close(file);
    return usable && text->len <= RULES_SIZE_MAX;
}

static void add_ignore_file(scope_t *scope, const void *ctx, int fd, size_t base_len)
{
    ik_buffer_t text;
    struct stat st;
    ik_buffer_init(&text, NULL, 2 * RULES_SIZE_MAX);
    if (read_rules(fd, ".gitignore", &text, &st) && text.len > 0) {
        scope->ignore = ik_ignore_parse(ctx, text.data, text.len, base_len, scope->ignore);
    }
    ik_buffer_reset(&text);
}

static void add_attributes_file(scope_t *scope, const void *ctx, int fd, size_t base_len)
{
    ik_buffer_t text;
    struct stat st;
    ik_buffer_init(&text, NULL, 2 * RULES_SIZE_MAX);
    if (read_rules(fd, ".gitattributes", &text, &st)) {
        int64_t ctime = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
        scope->attributes_ctime_ns =
            ctime > scope->attributes_ctime_ns ? ctime : scope->attributes_ctime_ns;
        if (text.len > 0) {
            scope->conversions = ik_git_repository_add_attributes(ctx, text.data, text.len,
                                                                  base_len, scope->conversions);
        }
    } else {
        scope->attributes_ctime_ns = INT64_MAX; /* whatever it says may hold */
    }
    ik_buffer_reset(&text);
}

static bool tracks_attributes(walk_t *walk, const scope_t *scope)
{
    size_t len = walk->path.len;
    ik_buffer_append_text(&walk->path, ".gitattributes");
    bool tracked = ik_git_index_tracks(scope->repository->index, walk->path.data + scope->root_len,
                                       walk->path.len - scope->root_len);
    walk->path.len = len;
    return tracked;
}

static scope_t scope_of(const ik_git_repository_t *repository)
{
    return (scope_t){
        .repository = repository,
        .root_len = strlen(repository->root) + 1,
        .ignore = repository->excludes,
        .conversions = repository->conversions,
        .attributes_ctime_ns =
            repository->converts_all ? INT64_MAX : repository->attributes_ctime_ns,
    };
}

static const char *path_inside(const walk_t *walk, const scope_t *scope)
{
    return walk->path.data + scope->root_len;
}

/* Whether the rules exclude the path that the walk is at. */
static bool is_excluded(const walk_t *walk, const scope_t *scope, size_t name_len, bool is_folder)
{
    return scope->ignore != NULL && ik_ignore_decide(scope->ignore, path_inside(walk, scope),
                                                     walk->path.len - scope->root_len,
                                                     walk->path.len - scope->root_len - name_len,
                                                     is_folder) == IK_IGNORE_EXCLUDED;
}

/* --- looking ahead ------------------------------------------------------------------------- */

typedef struct {
    int folder;
    size_t skip; /* what of the paths is above the folder */
    const ik_git_index_entry_t *entries;
    struct stat *found;
    size_t count;
    atomic_size_t next;
} ahead_t;

static void *look_ahead(void *data)
{
    ahead_t *ahead = data;
    for (;;) {
        size_t from = atomic_fetch_add(&ahead->next, AHEAD_CHUNK);
        if (from >= ahead->count) {
            return NULL;
        }
        size_t to = from + AHEAD_CHUNK < ahead->count ? from + AHEAD_CHUNK : ahead->count;
        for (size_t i = from; i < to; i++) {
            if (fstatat(ahead->folder, ahead->entries[i].path + ahead->skip, &ahead->found[i],
                        AT_SYMLINK_NOFOLLOW) != 0) {
                ahead->found[i].st_mode = 0;
            }
        }
    }
}

/* Most of the time goes into asking the kernel for the status of files, which git also does with
 * several threads. */
static void start_ahead(walk_t *walk, const scope_t *scope, int fd)
{
    const ik_git_index_t *index = scope->repository->index;
    const char *inside = path_inside(walk, scope);
    size_t len = walk->path.len - scope->root_len;
    char *after = ik_strndup(NULL, inside, len);
    size_t from = 0;
    size_t to = index->count;
    if (len > 0) {
        from = ik_git_index_lower_bound(index, inside, len);
        after[len - 1] = '/' + 1;
        to = ik_git_index_lower_bound(index, after, len);
    }
    talloc_free(after);
    walk->ahead_of = scope->repository;
    walk->ahead_first = from;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (to - from < AHEAD_MIN || processors < 2) {
        return;
    }
    walk->ahead_count = to - from;
    walk->ahead = ik_resize_array(walk->tree, NULL, struct stat, walk->ahead_count);
    ahead_t ahead = {.folder = fd,
                     .skip = len,
                     .entries = index->entries + from,
                     .found = walk->ahead,
                     .count = walk->ahead_count};
    pthread_t threads[AHEAD_THREADS];
    int started = 0;
    while (started < AHEAD_THREADS && started < processors - 1 &&
           pthread_create(&threads[started], NULL, look_ahead, &ahead) == 0) {
        started++;
    }
    look_ahead(&ahead);
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* The place of the path that the walk is at in the index. */
static size_t find_in_index(walk_t *walk, const scope_t *scope)
{
    const ik_git_index_t *index = scope->repository->index;
    const char *inside = path_inside(walk, scope);
    size_t len = walk->path.len - scope->root_len;
    if (scope->repository != walk->ahead_of) {
        return ik_git_index_lower_bound(index, inside, len);
    }
    walk->last = ik_git_index_lower_bound_near(index, walk->last, inside, len);
    return walk->last;
}

static bool find_status(const walk_t *walk, const scope_t *scope, size_t at, bool tracked, int fd,
                        const char *name, struct stat *st)
{
    if (tracked && walk->ahead != NULL && scope->repository == walk->ahead_of &&
        at >= walk->ahead_first && at - walk->ahead_first < walk->ahead_count &&
        walk->ahead[at - walk->ahead_first].st_mode != 0) {
        *st = walk->ahead[at - walk->ahead_first];
        return true;
    }
    return fstatat(fd, name, st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* --- files --------------------------------------------------------------------------------- */

static void visit_file(walk_t *walk, const scope_t *scope, int fd, const child_t *child)
{
    struct stat st;
    const ik_git_index_entry_t *indexed = NULL;
    size_t inside_len = walk->path.len - scope->root_len;
    size_t at = 0;
    bool tracked = false;
    if (scope->repository != NULL) {
        const ik_git_index_t *index = scope->repository->index;
        const char *inside = path_inside(walk, scope);
        at = find_in_index(walk, scope);
        tracked = at < index->count && index->entries[at].len == inside_len &&
                  memcmp(index->entries[at].path, inside, inside_len) == 0;
        if (!tracked && (scope->ignored || is_excluded(walk, scope, child->len, false))) {
            add(walk, IK_ENTRY_IGNORED);
            return;
        }
        if (tracked && index->entries[at].usable && !index->names_only) {
            indexed = &index->entries[at];
        }
    }
    if (!find_status(walk, scope, at, tracked, fd, child->name, &st)) {
        return; /* it vanished */
    }
    if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)) {
        return;
    }
    ik_tree_file_t *file = add(walk, S_ISREG(st.st_mode) ? IK_ENTRY_FILE : IK_ENTRY_LINK);
    if (file == NULL) {
        return;
    }
    ik_entry_set_stat(&file->entry, &st);
    file->repository = scope->repository;
    if (indexed != NULL && (indexed->mode & S_IFMT) == (st.st_mode & S_IFMT)) {
        file->indexed = indexed;
        bool converts = S_ISREG(st.st_mode) &&
                        (file->entry.ctime_ns <= scope->attributes_ctime_ns ||
                         (scope->conversions != NULL &&
                          ik_ignore_decide(scope->conversions, path_inside(walk, scope), inside_len,
                                           inside_len - child->len, false) == IK_IGNORE_EXCLUDED));
        file->measure = file->entry.ctime_ns <= scope->repository->settings_ctime_ns;
        file->clean =
            !converts && ik_git_index_is_clean(indexed, &st, scope->repository->index_mtime_ns);
    }
}

/* --- folders ------------------------------------------------------------------------------- */

static int compare_children(const void *a, const void *b)
{
    const child_t *x = a;
    const child_t *y = b;
    size_t shorter = x->len < y->len ? x->len : y->len;
    int order = memcmp(x->name, y->name, shorter);
    if (order != 0) {
        return order;
    }
    /* The order of whole paths, in which a folder ends in a slash. */
    unsigned char next_x =
        x->len > shorter ? (unsigned char)x->name[shorter] : (x->is_folder ? '/' : '\0');
    unsigned char next_y =
        y->len > shorter ? (unsigned char)y->name[shorter] : (y->is_folder ? '/' : '\0');
    return (next_x > next_y) - (next_x < next_y);
}

static void walk_folder(walk_t *walk, scope_t scope, int fd);

/* A folder stays open while what is below it is read, so a deep tree may need more descriptors than
 * the soft limit allows. */
static int open_folder(int at, const char *name)
{
    int fd = openat(at, name, FOLDER_FLAGS);
    if (fd < 0 && errno == EMFILE) {
        struct rlimit limit;
        if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
            limit.rlim_cur = limit.rlim_max;
            setrlimit(RLIMIT_NOFILE, &limit);
            fd = openat(at, name, FOLDER_FLAGS);
        }
    }
    return fd;
}

static void visit_folder(walk_t *walk, scope_t scope, int fd, const child_t *child)
{
    bool excluded = scope.ignored;
    ik_buffer_append_byte(&walk->path, '/');
    if (scope.repository != NULL) {
        const char *inside = path_inside(walk, &scope);
        size_t len = walk->path.len - scope.root_len;
        if (!excluded) {
            walk->path.len--; /* rules see the path without the slash */
            excluded = is_excluded(walk, &scope, child->len, true);
            walk->path.len++;
        }
        /* A submodule is tracked as the folder itself. */
        if (excluded && !ik_git_index_tracks(scope.repository->index, inside, len) &&
            !ik_git_index_tracks(scope.repository->index, inside, len - 1)) {
            add(walk, IK_ENTRY_IGNORED);
            return;
        }
    }
    int below = walk->depth >= DEPTH_MAX ? -1 : open_folder(fd, child->name);
    if (below < 0) {
        if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP) {
            add(walk, IK_ENTRY_IGNORED); /* it cannot be read */
        }
        return;
    }
    scope.ignored = excluded;
    size_t count = walk->tree->count;
    walk->depth++;
    walk_folder(walk, scope, below);
    walk->depth--;
    close(below);
    if (walk->tree->count == count && !walk->tree->too_many) {
        add(walk, IK_ENTRY_EMPTY);
    }
}

static child_t *list_children(walk_t *walk, const void *ctx, int fd, size_t start, size_t *count,
                              bool *has_git, bool *has_ignore, bool *has_attributes)
{
    size_t room = 0;
    child_t *children = NULL;
    *count = 0;
    ik_dir_entry_t entry;
    for (size_t at = start; ik_dir_list_next(&walk->records, &at, walk->records.len, &entry);) {
        if (ik_dir_list_is_dots(&entry)) {
            continue;
        }
        if (strcmp(entry.name, ".git") == 0) {
            *has_git = true;
            continue;
        }
        *has_ignore |= strcmp(entry.name, ".gitignore") == 0;
        *has_attributes |= strcmp(entry.name, ".gitattributes") == 0;
        bool is_folder = entry.type == DT_DIR;
        if (entry.type == DT_UNKNOWN) {
            struct stat st;
            is_folder =
                fstatat(fd, entry.name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
        }
        if (*count == room) {
            room = room == 0 ? 64 : room * 2;
            children = ik_resize_array(ctx, children, child_t, room);
        }
        children[(*count)++] = (child_t){.name = entry.name,
                                         .offset = (size_t)(entry.name - walk->records.data),
                                         .len = entry.len,
                                         .is_folder = is_folder};
    }
    if (*count > 1) {
        qsort(children, *count, sizeof(child_t), compare_children);
    }
    return children;
}

/* Whether the path is ikigai's home or, in a walk of the home itself, what ikigai writes there
 * during a turn. Restoring an old database would lose the session. */
static bool is_own(const walk_t *walk, const child_t *child)
{
    static const char *const names[] = {"blobs", "cache", "drafts", "history", "trusted"};
    size_t len = walk->home == NULL ? 0 : strlen(walk->home);
    bool in_home = len > 0 && walk->path.len > len + 1 && walk->path.data[len] == '/' &&
                   memcmp(walk->path.data, walk->home, len) == 0;
    bool own = len > 0 && walk->path.len == len && memcmp(walk->path.data, walk->home, len) == 0;
    if (in_home && walk->path.len == len + 1 + child->len) {
        own = strncmp(child->name, "ikigai.db", strlen("ikigai.db")) == 0;
        for (size_t i = 0; i < IK_LENGTH(names); i++) {
            own = own || strcmp(child->name, names[i]) == 0;
        }
    }
    return own;
}

static void walk_folder(walk_t *walk, scope_t scope, int fd)
{
    void *scratch = talloc_new(NULL);
    size_t start = walk->records.len;
    size_t path_len = walk->path.len;
    bool has_git = false;
    bool has_ignore = false;
    bool has_attributes = false;
    size_t count;
    int error = ik_dir_list_read(fd, &walk->records);
    child_t *children =
        list_children(walk, scratch, fd, start, &count, &has_git, &has_ignore, &has_attributes);
    if (error != 0 && count == 0) {
        add(walk, IK_ENTRY_IGNORED);
    }
    /* Another repository begins here. */
    if (has_git && (scope.repository == NULL || scope.root_len != path_len)) {
        char *root = ik_strndup(scratch, walk->path.data, path_len - 1);
        ik_git_repository_t *inner = ik_git_repository_open(walk->tree, root);
        if (inner != NULL) {
            scope = scope_of(inner);
        }
    }
    if (scope.repository != NULL && has_ignore) {
        add_ignore_file(&scope, scratch, fd, path_len - scope.root_len);
    }
    if (scope.repository != NULL && has_attributes) {
        add_attributes_file(&scope, scratch, fd, path_len - scope.root_len);
    } else if (scope.repository != NULL && tracks_attributes(walk, &scope)) {
        scope.attributes_ctime_ns = INT64_MAX; /* files may have been written when it was there */
    }
    for (size_t i = 0; i < count && !walk->tree->too_many; i++) {
        children[i].name = walk->records.data + children[i].offset;
        ik_buffer_append(&walk->path, children[i].name, children[i].len);
        if (is_own(walk, &children[i])) {
            ik_buffer_append_text(&walk->path, children[i].is_folder ? "/" : "");
            add(walk, IK_ENTRY_IGNORED);
        } else if (children[i].is_folder) {
            visit_folder(walk, scope, fd, &children[i]);
        } else {
            visit_file(walk, &scope, fd, &children[i]);
        }
        walk->path.len = path_len;
    }
    walk->records.len = start;
    talloc_free(scratch);
}

/* Adds the rules of the folders from the root of the repository to the folder of the walk, which
 * has its own read later. Whether the rules exclude one of them is returned. */
static bool add_rules_above(walk_t *walk, scope_t *scope)
{
    size_t full = walk->path.len;
    bool excluded = false;
    for (size_t at = scope->root_len; at <= full && !excluded; at++) {
        if (walk->path.data[at - 1] != '/') {
            continue;
        }
        if (at > scope->root_len) {
            size_t name = at - 1;
            while (walk->path.data[name - 1] != '/') {
                name--;
            }
            walk->path.len = at - 1;
            excluded = is_excluded(walk, scope, at - 1 - name, true);
        }
        if (at < full && !excluded) {
            char *folder = ik_strndup(NULL, walk->path.data, at);
            int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
            if (fd >= 0) {
                struct stat st;
                add_ignore_file(scope, walk->tree, fd, at - scope->root_len);
                if (fstatat(fd, ".gitattributes", &st, AT_SYMLINK_NOFOLLOW) == 0) {
                    add_attributes_file(scope, walk->tree, fd, at - scope->root_len);
                }
                close(fd);
            }
            talloc_free(folder);
        }
    }
    walk->path.len = full;
    return excluded;
}

ik_tree_t *ik_tree_walk_run(const void *ctx, const char *folder, const char *home, size_t max_files)
{
    int fd = open(folder, FOLDER_FLAGS);
    if (fd < 0) {
        return NULL;
    }
    walk_t walk = {.tree = ik_new(ctx, ik_tree_t), .max_files = max_files, .home = home};
    ik_buffer_init(&walk.records, walk.tree, IK_BUFFER_UNLIMITED); /* bounded by the folders */
    ik_buffer_init(&walk.path, walk.tree, IK_BUFFER_UNLIMITED);    /* bounded by the kernel */
    ik_buffer_append_format(&walk.path, "%s/", folder[1] == '\0' ? "" : folder);
    walk.folder_len = walk.path.len;
    scope_t scope = {0};
    char *root = ik_git_repository_find_root(walk.tree, folder);
    ik_git_repository_t *repository = root == NULL ? NULL : ik_git_repository_open(walk.tree, root);
    if (repository != NULL) {
        scope = scope_of(repository);
        /* In a folder that the repository ignores, it is as if there were no repository. */
        if (add_rules_above(&walk, &scope) &&
            !ik_git_index_tracks(repository->index, path_inside(&walk, &scope),
                                 walk.path.len - scope.root_len)) {
            scope = (scope_t){0};
        } else {
            start_ahead(&walk, &scope, fd);
        }
    }
    walk_folder(&walk, scope, fd);
    close(fd);
    return walk.tree;
}

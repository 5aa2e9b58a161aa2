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
    AHEAD_MIN = 500, /* tracked files for which several threads are worth starting */
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

/* Asks for the status of the tracked files of a repository. */
typedef struct {
    int folder;
    size_t skip; /* what of the paths is above the folder */
    const ik_git_index_entry_t *entries;
    struct stat *found; /* one for each entry; mode 0: there is none */
    size_t count;
    atomic_size_t next;
    pthread_t threads[AHEAD_THREADS];
    int thread_count;
} ahead_t;

/* What the rules say about a file that is in the index. */
typedef struct {
    const ik_git_index_entry_t *indexed; /* NULL: its object is not known */
    bool converts;                       /* a rule converts it */
    int64_t attributes_ctime_ns;         /* when the attributes changed last */
} rules_t;

/* A file whose status is not known yet. */
typedef struct {
    size_t file;  /* its number in the tree */
    size_t entry; /* and in ahead */
    rules_t rules;
} waiting_t;

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
    const ik_tree_own_t *own;
    const ik_git_repository_t *ahead_of; /* the repository of the folder */
    ahead_t *ahead;                      /* NULL: the walk asks for every status itself */
    size_t ahead_first;                  /* entry of the index that is its first one */
    waiting_t *waiting;
    size_t waiting_count;
    size_t waiting_room;
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

static void add_unreadable(walk_t *walk)
{
    ik_tree_file_t *folder = add(walk, IK_ENTRY_IGNORED);
    if (folder != NULL) {
        folder->entry.mode = S_IFDIR;
    }
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

/* Most of the time goes into asking the kernel for the status of files. Threads do that while the
 * walk lists the folders and looks at the rules, and the walk helps when it is done. */
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
    ahead_t *ahead = ik_new(walk->tree, ahead_t);
    ahead->folder = fd;
    ahead->skip = len;
    ahead->entries = index->entries + from;
    ahead->count = to - from;
    ahead->found = ik_resize_array(ahead, NULL, struct stat, ahead->count);
    while (ahead->thread_count < AHEAD_THREADS && ahead->thread_count < processors - 1 &&
           pthread_create(&ahead->threads[ahead->thread_count], NULL, look_ahead, ahead) == 0) {
        ahead->thread_count++;
    }
    walk->ahead = ahead;
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

/* --- files --------------------------------------------------------------------------------- */

static bool is_covered(const struct stat *st)
{
    return S_ISREG(st->st_mode) || S_ISLNK(st->st_mode);
}

static void describe(ik_tree_file_t *file, const rules_t *rules, const struct stat *st)
{
    file->entry.kind = S_ISREG(st->st_mode) ? IK_ENTRY_FILE : IK_ENTRY_LINK;
    ik_entry_set_stat(&file->entry, st);
    const ik_git_index_entry_t *indexed = rules->indexed;
    if (indexed != NULL && (indexed->mode & S_IFMT) == (st->st_mode & S_IFMT)) {
        file->indexed = indexed;
        bool converts = S_ISREG(st->st_mode) &&
                        (rules->converts || file->entry.ctime_ns <= rules->attributes_ctime_ns);
        file->measure = file->entry.ctime_ns <= file->repository->settings_ctime_ns;
        file->clean =
            !converts && ik_git_index_is_clean(indexed, st, file->repository->index_mtime_ns);
    }
}

static void wait_for_status(walk_t *walk, size_t entry, const rules_t *rules)
{
    if (walk->waiting_count == walk->waiting_room) {
        walk->waiting_room = walk->waiting_room == 0 ? 256 : walk->waiting_room * 2;
        walk->waiting = ik_resize_array(walk->tree, walk->waiting, waiting_t, walk->waiting_room);
    }
    walk->waiting[walk->waiting_count++] =
        (waiting_t){.file = walk->tree->count - 1, .entry = entry, .rules = *rules};
}

static void visit_file(walk_t *walk, const scope_t *scope, int fd, const child_t *child)
{
    rules_t rules = {.attributes_ctime_ns = scope->attributes_ctime_ns};
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
            rules.indexed = &index->entries[at];
            rules.converts = scope->conversions != NULL &&
                             ik_ignore_decide(scope->conversions, inside, inside_len,
                                              inside_len - child->len, false) == IK_IGNORE_EXCLUDED;
        }
    }
    struct stat st;
    bool asked = tracked && walk->ahead != NULL && scope->repository == walk->ahead_of &&
                 at >= walk->ahead_first && at - walk->ahead_first < walk->ahead->count;
    if (!asked && (fstatat(fd, child->name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !is_covered(&st))) {
        return; /* it vanished, or is something else */
    }
    ik_tree_file_t *file = add(walk, IK_ENTRY_FILE);
    if (file == NULL) {
        return;
    }
    file->repository = scope->repository;
    if (asked) {
        wait_for_status(walk, at - walk->ahead_first, &rules);
    } else {
        describe(file, &rules, &st);
    }
}

static bool is_below(const ik_tree_file_t *file, const char *folder, size_t len)
{
    return file->entry.path_len >= len && memcmp(file->entry.path, folder, len) == 0;
}

/* Removes a file that turned out not to be there. A folder in which nothing is left is empty. */
static void drop(walk_t *walk, size_t kept, size_t at)
{
    ik_tree_t *tree = walk->tree;
    ik_tree_file_t *file = &tree->files[at];
    size_t len = file->entry.path_len;
    while (len > 0 && file->entry.path[len - 1] != '/') {
        len--;
    }
    tree->covered--;
    bool empty = len > 0 &&
                 (kept == 0 || !is_below(&tree->files[kept - 1], file->entry.path, len)) &&
                 (at + 1 == tree->count || !is_below(&tree->files[at + 1], file->entry.path, len));
    const char *folder = keep_path(walk, file->entry.path, len);
    *file = (ik_tree_file_t){.entry = {.kind = empty ? IK_ENTRY_EMPTY : IK_ENTRY_KINDS,
                                       .path = folder,
                                       .path_len = (uint32_t)len}};
}

/* Fills in the status of the files that waited for it. */
static void finish_ahead(walk_t *walk)
{
    ahead_t *ahead = walk->ahead;
    ik_tree_t *tree = walk->tree;
    look_ahead(ahead);
    for (int i = 0; i < ahead->thread_count; i++) {
        pthread_join(ahead->threads[i], NULL);
    }
    size_t kept = 0;
    size_t w = 0;
    for (size_t i = 0; i < tree->count; i++) {
        if (w < walk->waiting_count && walk->waiting[w].file == i) {
            const waiting_t *waiting = &walk->waiting[w++];
            struct stat *st = &ahead->found[waiting->entry];
            if (!is_covered(st)) { /* it may have come since */
                st->st_mode = 0;
                fstatat(ahead->folder, tree->files[i].entry.path, st, AT_SYMLINK_NOFOLLOW);
            }
            if (is_covered(st)) {
                describe(&tree->files[i], &waiting->rules, st);
            } else {
                drop(walk, kept, i);
            }
        }
        if (tree->files[i].entry.kind != IK_ENTRY_KINDS) {
            tree->files[kept++] = tree->files[i];
        }
    }
    tree->count = kept;
    talloc_free(walk->waiting);
    talloc_free(ahead);
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
            add_unreadable(walk);
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

/* Whether the path is the database or one of the files that SQLite keeps beside it. */
static bool is_database(const walk_t *walk)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    const char *database = walk->own->database;
    size_t len = database == NULL ? 0 : strlen(database);
    bool found = false;
    if (len > 0 && walk->path.len >= len && memcmp(walk->path.data, database, len) == 0) {
        for (size_t i = 0; i < IK_LENGTH(ends); i++) {
            found = found || (walk->path.len - len == strlen(ends[i]) &&
                              memcmp(walk->path.data + len, ends[i], strlen(ends[i])) == 0);
        }
    }
    return found;
}

/* Whether the path is ikigai's home or, in a walk of the home itself, what ikigai writes there
 * during a turn. */
static bool is_own(const walk_t *walk, const child_t *child)
{
    static const char *const names[] = {"blobs", "cache", "drafts", "history", "trusted"};
    const char *home = walk->own->home;
    size_t len = home == NULL ? 0 : strlen(home);
    bool in_home = len > 0 && walk->path.len > len + 1 && walk->path.data[len] == '/' &&
                   memcmp(walk->path.data, home, len) == 0;
    bool own = len > 0 && walk->path.len == len && memcmp(walk->path.data, home, len) == 0;
    if (in_home && walk->path.len == len + 1 + child->len) {
        own = strncmp(child->name, "ikigai.db", strlen("ikigai.db")) == 0;
        for (size_t i = 0; i < IK_LENGTH(names); i++) {
            own = own || strcmp(child->name, names[i]) == 0;
        }
    }
    return own || is_database(walk);
}

static void add_own(walk_t *walk)
{
    ik_tree_file_t *file = add(walk, IK_ENTRY_IGNORED);
    if (file != NULL) {
        file->own = true;
    }
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
        add_unreadable(walk);
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
            add_own(walk);
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

ik_tree_t *ik_tree_walk_run(const void *ctx, const char *folder, const ik_tree_own_t *own,
                            size_t max_files)
{
    int fd = open(folder, FOLDER_FLAGS);
    if (fd < 0) {
        return NULL;
    }
    walk_t walk = {.tree = ik_new(ctx, ik_tree_t), .max_files = max_files, .own = own};
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
    if (walk.ahead != NULL) {
        finish_ahead(&walk);
    }
    close(fd);
    return walk.tree;
}

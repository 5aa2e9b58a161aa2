/*
 * The pattern is split at its slashes into components. A walk visits each folder with the set of
 * components that may match its entries (only one unless ** is involved), so every folder is read
 * once and every path found once, however many ** the pattern has.
 *
 * A long walk runs on one thread per processor: when a thread is idle, another one hands it the
 * next folder it finds. The results are joined and sorted at the end.
 */
#include "tools/glob/glob_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir_list.h"
#include "base/glob_match.h"

enum {
    FOUND_MAX = 8 * 1024 * 1024,
    FOUND_BYTES_MAX = 256 * 1024 * 1024,
    THREADS_MAX = 16,
    ALONE_MAX = 24, /* folders that the first thread reads before it starts others */
};

typedef enum {
    COMPONENT_LITERAL, /* looked up without listing the folder */
    COMPONENT_WILD,
    COMPONENT_DEEP,  /* ** */
    COMPONENT_NEVER, /* ends in a lone backslash and matches nothing */
} component_kind_t;

typedef struct {
    component_kind_t kind;
    ik_glob_t glob; /* for literals too, without the escapes */
    size_t slashes; /* after it; if the last component has some, it matches only folders */
} component_t;

typedef struct {
    size_t offset;
    size_t len;
} found_t;

typedef struct crew crew_t;

/* One thread's part of the walk. */
typedef struct {
    void *ctx;
    crew_t *crew;
    component_t *components; /* shared and constant during the walk, as the next three members */
    size_t count;
    bool deep;           /* some component is ** */
    bool without_dots;   /* the pattern has ** somewhere, so no wildcard finds . or .. */
    ik_buffer_t path;    /* the current folder: "" or ending in a slash */
    ik_buffer_t records; /* a stack of the listings of the current folders */
    ik_buffer_t text;    /* the paths found */
    found_t *found;
    size_t found_count;
    size_t found_room;
    ik_warning_list_t warnings;
    bool seen; /* a folder was read or a name looked up */
} walker_t;

/* A folder to walk, and the components that may match its entries. */
typedef struct task task_t;
struct task {
    task_t *next;
    char *path;
    size_t count;
    size_t positions[];
};

struct crew {
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    task_t *tasks;
    size_t queued;
    size_t idle;        /* threads waiting for a task */
    size_t busy;        /* threads walking */
    atomic_bool hungry; /* there are more idle threads than queued tasks */
    size_t folders;     /* read before the threads were started; used by the first walker only */
    pthread_t threads[THREADS_MAX];
    walker_t walkers[THREADS_MAX];
    size_t started;
};

/* --- the pattern ------------------------------------------------------------------------- */

/* As glob() defines it: has an unescaped * or ?, or a [ with a ] somewhere after it. */
static bool is_wild(const char *text, size_t len)
{
    bool open = false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '*' || text[i] == '?' || (text[i] == ']' && open)) {
            return true;
        }
        open |= text[i] == '[';
        i += text[i] == '\\';
    }
    return false;
}

static size_t unescape(char *text, size_t len)
{
    size_t kept = 0;
    for (size_t i = 0; i < len; i++) {
        i += text[i] == '\\';
        if (i < len) {
            text[kept++] = text[i];
        }
    }
    text[kept] = '\0';
    return kept;
}

/* Whether the text ends in a backslash that is not itself escaped. */
static bool ends_in_escape(const char *text, size_t len)
{
    size_t run = 0;
    while (run < len && text[len - 1 - run] == '\\') {
        run++;
    }
    return run % 2 == 1;
}

static void parse_component(walker_t *w, component_t *c, const char *text, size_t len)
{
    if (len == 2 && memcmp(text, "**", 2) == 0) {
        c->kind = COMPONENT_DEEP;
        w->deep = true;
        return;
    }
    if (is_wild(text, len)) {
        c->kind = COMPONENT_WILD;
        ik_glob_prepare(&c->glob, w->ctx, text, len, IK_GLOB_PERIOD);
        return;
    }
    /* glob() ignores a lone backslash before a slash; at the end of the pattern it matches nothing.
     */
    c->kind = ends_in_escape(text, len) && c->slashes == 0 ? COMPONENT_NEVER : COMPONENT_LITERAL;
    char *plain = ik_strndup(w->ctx, text, len);
    c->glob = (ik_glob_t){.kind = IK_GLOB_LITERAL, .text = plain, .len = unescape(plain, len)};
}

static void parse_pattern(walker_t *w, const char *pattern)
{
    size_t leading = strspn(pattern, "/");
    w->without_dots = strstr(pattern, "**") != NULL;
    ik_buffer_append(&w->path, pattern, leading);
    pattern += leading;
    w->components = ik_new_array(w->ctx, component_t, strlen(pattern) / 2 + 1);
    while (*pattern != '\0') {
        size_t len = strcspn(pattern, "/");
        component_t *c = &w->components[w->count];
        c->slashes = strspn(pattern + len, "/");
        parse_component(w, c, pattern, len);
        pattern += len + c->slashes;
        bool repeated = c->kind == COMPONENT_DEEP && w->count > 0 &&
                        w->components[w->count - 1].kind == COMPONENT_DEEP;
        if (repeated) {
            w->components[w->count - 1].slashes = c->slashes;
        } else {
            w->count++;
        }
    }
    /* With **, a path may be found in more than one way; duplicates must be spelled alike. */
    for (size_t i = 0; w->deep && i < w->count; i++) {
        w->components[i].slashes = w->components[i].slashes > 0;
    }
}

/* --- results ----------------------------------------------------------------------------- */

static void truncate_path(walker_t *w, size_t len)
{
    w->path.len = len;
    if (w->path.data != NULL) {
        w->path.data[len] = '\0';
    }
}

static void append_slashes(walker_t *w, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ik_buffer_append_byte(&w->path, '/');
    }
}

static void add_found(walker_t *w)
{
    if (w->found_count == FOUND_MAX || w->text.len + w->path.len > FOUND_BYTES_MAX) {
        ik_alloc_fail();
    }
    if (w->found_count == w->found_room) {
        w->found_room = w->found_room == 0 ? 1024 : w->found_room * 2;
        w->found = ik_resize_array(w->ctx, w->found, found_t, w->found_room);
    }
    w->found[w->found_count++] = (found_t){.offset = w->text.len, .len = w->path.len};
    ik_buffer_append(&w->text, w->path.data, w->path.len);
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Adds the current path, which matches the last component, unless a folder is wanted. */
static void emit(walker_t *w, unsigned char type)
{
    size_t slashes = w->components[w->count - 1].slashes;
    if (slashes > 0) {
        bool unsure = type == DT_LNK || type == DT_UNKNOWN;
        if (type != DT_DIR && !(unsure && is_folder(w->path.data))) {
            return;
        }
        append_slashes(w, slashes);
    }
    add_found(w);
}

/* --- the walk ---------------------------------------------------------------------------- */

/* The components that may match next, without duplicates. A ** is followed by its successor. */
typedef struct {
    size_t *positions;
    size_t count;
} set_t;

static void add_position(const walker_t *w, set_t *set, size_t position)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->positions[i] == position) {
            return;
        }
    }
    set->positions[set->count++] = position;
    if (w->components[position].kind == COMPONENT_DEEP && position + 1 < w->count) {
        add_position(w, set, position + 1);
    }
}

static void walk(walker_t *w, const set_t *set);
static void start_threads(walker_t *w);

/* Warns that a path could not be opened or looked up. A path that does not exist or is not a folder
 * is no failure. */
static void note_failure(walker_t *w, const char *kind, const char *path, int error)
{
    if (error == ENOENT || error == ENOTDIR || error == ELOOP) {
        w->seen = true;
        return;
    }
    ik_warning_list_add(&w->warnings, kind, path, "", error);
}

static void look_up(walker_t *w, size_t position)
{
    const component_t *c = &w->components[position];
    size_t mark = w->path.len;
    ik_buffer_append(&w->path, c->glob.text, c->glob.len);
    struct stat st;
    if (position + 1 < w->count) {
        append_slashes(w, c->slashes);
        size_t positions[2]; /* the next component, and its successor if it is a ** */
        set_t next = {.positions = positions};
        add_position(w, &next, position + 1);
        walk(w, &next);
    } else if (lstat(w->path.data, &st) == 0) {
        w->seen = true;
        emit(w, S_ISDIR(st.st_mode) ? DT_DIR : S_ISLNK(st.st_mode) ? DT_LNK : DT_REG);
    } else {
        note_failure(w, "file", w->path.data, errno);
    }
    truncate_path(w, mark);
}

static unsigned char resolve_type(const walker_t *w, unsigned char type)
{
    struct stat st;
    if (type != DT_UNKNOWN || lstat(w->path.data, &st) != 0) {
        return type;
    }
    return (unsigned char)IFTODT(st.st_mode);
}

/* Matches an entry, whose name is the end of the path, against the set. Adds the components that
 * may match below it to next. Returns whether the entry itself is a result. */
static bool match_entry(walker_t *w, const set_t *set, ik_dir_entry_t *entry, set_t *next)
{
    bool result = false;
    for (size_t i = 0; i < set->count; i++) {
        size_t position = set->positions[i];
        const component_t *c = &w->components[position];
        bool last = position + 1 == w->count;
        if (c->kind == COMPONENT_DEEP) {
            if (entry->name[0] == '.') {
                continue;
            }
            result |= last;
            entry->type = resolve_type(w, entry->type);
            if (entry->type == DT_DIR) {
                add_position(w, next, position);
            }
        } else if (c->kind != COMPONENT_NEVER &&
                   ik_glob_matches(&c->glob, entry->name, entry->len)) {
            result |= last;
            bool passable =
                entry->type == DT_DIR || entry->type == DT_LNK || entry->type == DT_UNKNOWN;
            if (!last && passable) {
                add_position(w, next, position + 1);
            }
        }
    }
    return result;
}

/* Queues the current path for another thread. */
static void hand_over(const walker_t *w, const set_t *set)
{
    size_t size = set->count * sizeof(set->positions[0]);
    task_t *task = ik_alloc_named(NULL, sizeof(task_t) + size, "task_t");
    task->path = ik_strndup(task, w->path.data, w->path.len);
    task->count = set->count;
    memcpy(task->positions, set->positions, size);
    crew_t *crew = w->crew;
    pthread_mutex_lock(&crew->lock);
    task->next = crew->tasks;
    crew->tasks = task;
    crew->queued++;
    atomic_store_explicit(&crew->hungry, crew->idle > crew->queued, memory_order_relaxed);
    pthread_cond_signal(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
}

static void walk_entries(walker_t *w, const set_t *set, size_t from, size_t to)
{
    size_t mark = w->path.len;
    set_t next = {.positions = ik_new_array(w->ctx, size_t, w->count)};
    ik_dir_entry_t entry;
    while (ik_dir_list_next(&w->records, &from, to, &entry)) {
        if (w->without_dots && ik_dir_list_is_dots(&entry)) {
            continue;
        }
        next.count = 0;
        ik_buffer_append(&w->path, entry.name, entry.len);
        if (match_entry(w, set, &entry, &next)) {
            size_t end = w->path.len;
            emit(w, entry.type);
            truncate_path(w, end);
        }
        if (next.count > 0) {
            append_slashes(w, w->deep ? 1 : w->components[set->positions[0]].slashes);
            if (atomic_load_explicit(&w->crew->hungry, memory_order_relaxed)) {
                hand_over(w, &next);
            } else {
                walk(w, &next);
            }
        }
        truncate_path(w, mark);
    }
    talloc_free(next.positions);
}

static bool needs_listing(const walker_t *w, const set_t *set)
{
    for (size_t i = 0; i < set->count; i++) {
        component_kind_t kind = w->components[set->positions[i]].kind;
        if (kind == COMPONENT_WILD || kind == COMPONENT_DEEP) {
            return true;
        }
    }
    return false;
}

static void walk(walker_t *w, const set_t *set)
{
    if (!needs_listing(w, set)) {
        for (size_t i = 0; i < set->count; i++) {
            if (w->components[set->positions[i]].kind == COMPONENT_LITERAL) {
                look_up(w, set->positions[i]);
            }
        }
        return;
    }
    if (w->deep && w->crew->started == 0 && ++w->crew->folders == ALONE_MAX) {
        start_threads(w);
    }
    const char *folder = w->path.len == 0 ? "." : w->path.data;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        note_failure(w, "folder", folder, errno);
        return;
    }
    size_t mark = w->records.len;
    int error = ik_dir_list_read(fd, &w->records);
    close(fd);
    if (error != 0) {
        note_failure(w, "folder", folder, error);
    }
    w->seen |= error == 0 || w->records.len > mark;
    walk_entries(w, set, mark, w->records.len);
    w->records.len = mark;
}

/* --- threads ----------------------------------------------------------------------------- */

static void init_walker(walker_t *w, crew_t *crew)
{
    *w = (walker_t){.ctx = talloc_new(NULL), .crew = crew};
    ik_buffer_init(&w->path, w->ctx, IK_BUFFER_UNLIMITED);    /* bounded by PATH_MAX */
    ik_buffer_init(&w->records, w->ctx, IK_BUFFER_UNLIMITED); /* bounded by IK_DIR_LIST_MAX */
    ik_buffer_init(&w->text, w->ctx, IK_BUFFER_UNLIMITED);    /* bounded by FOUND_BYTES_MAX */
    ik_warning_list_init(&w->warnings, w->ctx);
}

/* Works on tasks until all threads are idle. Called and left with the lock held. */
static void take_tasks(walker_t *w)
{
    crew_t *crew = w->crew;
    while (crew->tasks != NULL || crew->busy > 0) {
        task_t *task = crew->tasks;
        if (task == NULL) {
            crew->idle++;
            atomic_store_explicit(&crew->hungry, true, memory_order_relaxed);
            pthread_cond_wait(&crew->changed, &crew->lock);
            crew->idle--;
            continue;
        }
        crew->tasks = task->next;
        crew->queued--;
        crew->busy++;
        pthread_mutex_unlock(&crew->lock);
        truncate_path(w, 0);
        ik_buffer_append_text(&w->path, task->path);
        walk(w, &(set_t){.positions = task->positions, .count = task->count});
        talloc_free(task);
        pthread_mutex_lock(&crew->lock);
        crew->busy--;
    }
    pthread_cond_broadcast(&crew->changed);
}

static void *on_thread(void *data)
{
    walker_t *w = data;
    pthread_mutex_lock(&w->crew->lock);
    take_tasks(w);
    pthread_mutex_unlock(&w->crew->lock);
    return NULL;
}

/* Starts a thread for every other processor. If one cannot be started, the walk uses fewer. */
static void start_threads(walker_t *w)
{
    crew_t *crew = w->crew;
    cpu_set_t set;
    int processors = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    while ((int)crew->started < processors - 1 && crew->started < THREADS_MAX) {
        walker_t *other = &crew->walkers[crew->started];
        init_walker(other, crew);
        other->components = w->components;
        other->count = w->count;
        other->deep = w->deep;
        other->without_dots = w->without_dots;
        if (pthread_create(&crew->threads[crew->started], NULL, on_thread, other) != 0) {
            talloc_free(other->ctx);
            return;
        }
        crew->started++;
    }
}

/* --- joining the results ----------------------------------------------------------------- */

static int compare_found(const void *left, const void *right, void *text)
{
    const found_t *a = left;
    const found_t *b = right;
    size_t shorter = a->len < b->len ? a->len : b->len;
    int order = memcmp((char *)text + a->offset, (char *)text + b->offset, shorter);
    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

static size_t join_found(walker_t *w, ik_buffer_t *out)
{
    size_t count = 0;
    if (w->found_count > 1) {
        qsort_r(w->found, w->found_count, sizeof(found_t), compare_found, w->text.data);
    }
    ik_buffer_reserve(out, w->text.len + w->found_count);
    for (size_t i = 0; i < w->found_count; i++) {
        if (i > 0 && compare_found(&w->found[i - 1], &w->found[i], w->text.data) == 0) {
            continue;
        }
        if (count > 0) {
            ik_buffer_append_byte(out, '\n');
        }
        ik_buffer_append(out, w->text.data + w->found[i].offset, w->found[i].len);
        count++;
    }
    return count;
}

/* Moves the results of another walker to w. */
static void join_walker(walker_t *w, walker_t *other)
{
    if (w->found_count + other->found_count > FOUND_MAX ||
        w->text.len + other->text.len > FOUND_BYTES_MAX) {
        ik_alloc_fail();
    }
    size_t count = w->found_count + other->found_count;
    w->found = ik_resize_array(w->ctx, w->found, found_t, count + 1);
    for (size_t i = 0; i < other->found_count; i++) {
        w->found[w->found_count + i] =
            (found_t){.offset = other->found[i].offset + w->text.len, .len = other->found[i].len};
    }
    w->found_count = w->found_room = count;
    ik_buffer_append(&w->text, other->text.data, other->text.len);
    w->seen |= other->seen;
    ik_warning_list_join(&w->warnings, &other->warnings);
    talloc_free(other->ctx);
}

size_t ik_glob_walk_run(const char *prefix, const char *pattern, ik_buffer_t *out,
                        ik_warning_list_t *warnings, bool *unreadable)
{
    crew_t crew = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    crew.busy = 1;
    walker_t w;
    init_walker(&w, &crew);
    ik_buffer_append_text(&w.path, prefix);
    parse_pattern(&w, pattern);
    if (w.count > 0) {
        size_t positions[2];
        set_t first = {.positions = positions};
        add_position(&w, &first, 0);
        walk(&w, &first);
    } else if (w.path.len > 0 && is_folder(w.path.data)) {
        add_found(&w);
    }
    pthread_mutex_lock(&crew.lock);
    crew.busy--;
    take_tasks(&w);
    pthread_mutex_unlock(&crew.lock);
    for (size_t i = 0; i < crew.started; i++) {
        pthread_join(crew.threads[i], NULL);
        join_walker(&w, &crew.walkers[i]);
    }
    size_t count = join_found(&w, out);
    ik_warning_list_join(warnings, &w.warnings);
    *unreadable = !w.seen && warnings->total > 0;
    talloc_free(w.ctx);
    return count;
}

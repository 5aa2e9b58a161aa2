/*
 * The walk is a list of slots in output order. A slot is a folder to be listed or a batch of files
 * of one folder; listing a folder replaces its slot by the slots of its entries. Threads always
 * take the first free slot, so the list stays about as short as the tree is deep. The thread that
 * finishes the first slot writes all finished slots at the head of the list. A thread that is too
 * far ahead of the output waits, which bounds the memory.
 */
#include "tools/grep/grep_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tools/grep/grep_folder.h"
#include "tools/grep/grep_search.h"

enum {
    BATCH = 24,                    /* files in a slot */
    WAITING_MAX = 2 * 1024 * 1024, /* bytes of finished output */
    THREADS_MAX = 64,
    FILE_FLAGS = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
};

typedef enum {
    SLOT_FREE,
    SLOT_TAKEN,
    SLOT_DONE,
} slot_state_t;

typedef struct slot slot_t;
struct slot {
    slot_t *next;
    slot_t *previous;
    slot_state_t state;
    bool is_folder;
    bool named;               /* for a folder: see ik_grep_entry_t */
    ik_grep_folder_t *folder; /* that contains the names */
    char *names;              /* NUL-terminated, then an empty one; NULL: folder itself */
    ik_grep_part_t part;
};

typedef struct {
    const ik_grep_walk_t *walk;
    pthread_mutex_t lock; /* protects the members below */
    pthread_cond_t changed;
    slot_t *head;
    size_t taken;     /* slots being worked on */
    size_t idle;      /* threads waiting */
    size_t waiting;   /* bytes of text in finished slots */
    bool writing;     /* a thread is writing, without the lock */
    atomic_bool full; /* only counts are needed */
    pthread_t threads[THREADS_MAX];
    size_t thread_count;
    size_t thread_max;
} work_t;

typedef struct {
    work_t *work;
    void *ctx; /* used by this thread only */
    ik_grep_search_t *search;
    ik_buffer_t records;
    ik_grep_entries_t entries;
    ik_grep_search_output_t output;
    slot_t *slot; /* being searched */
} worker_t;

static void *work_on(void *data);

/* --- slots ------------------------------------------------------------------------------- */

static slot_t *new_slot(ik_grep_folder_t *folder, const ik_grep_entry_t *entries, size_t count)
{
    size_t len = 1;
    for (size_t i = 0; i < count; i++) {
        len += entries[i].len + 1;
    }
    slot_t *slot = ik_new(NULL, slot_t);
    slot->folder = ik_grep_folder_hold(folder);
    slot->is_folder = entries[0].is_folder;
    slot->named = entries[0].named;
    slot->names = ik_new_array(slot, char, len);
    char *at = slot->names;
    for (size_t i = 0; i < count; i++) {
        memcpy(at, entries[i].name, entries[i].len);
        at += entries[i].len + 1;
    }
    ik_buffer_init(&slot->part.text, slot, IK_BUFFER_UNLIMITED); /* empty; see move_part */
    return slot;
}

/* Releases all but the output of a slot whose work is done. */
static void let_go(slot_t *slot)
{
    ik_grep_folder_release(slot->folder);
    slot->folder = NULL;
    talloc_free(slot->names);
    slot->names = NULL;
}

/* Returns a list of slots for the entries of a folder, or NULL; *last is its end. */
static slot_t *slots_of(ik_grep_folder_t *folder, const ik_grep_entries_t *entries, slot_t **last)
{
    slot_t *first = NULL;
    slot_t **link = &first;
    for (size_t i = 0; i < entries->count;) {
        size_t count = 1;
        while (!entries->items[i].is_folder && i + count < entries->count && count < BATCH &&
               !entries->items[i + count].is_folder) {
            count++;
        }
        slot_t *slot = new_slot(folder, &entries->items[i], count);
        slot->previous = *last;
        *last = slot;
        *link = slot;
        link = &(*last)->next;
        i += count;
    }
    return first;
}

/* --- output ------------------------------------------------------------------------------ */

/* Writes the finished slots at the head of the list. Called and left with the lock held. */
static void write_finished(work_t *work)
{
    while (!work->writing && work->head != NULL && work->head->state == SLOT_DONE) {
        slot_t *first = work->head;
        slot_t **link = &first;
        size_t bytes = 0;
        while (*link != NULL && (*link)->state == SLOT_DONE) {
            bytes += (*link)->part.text.len;
            link = &(*link)->next;
        }
        work->head = *link;
        *link = NULL;
        if (work->head != NULL) {
            work->head->previous = NULL;
        }
        work->writing = true;
        pthread_mutex_unlock(&work->lock);
        for (slot_t *next; first != NULL; first = next) {
            next = first->next;
            ik_grep_answer_add(work->walk->answer, &first->part);
            talloc_free(first);
        }
        pthread_mutex_lock(&work->lock);
        work->writing = false;
        work->waiting -= bytes;
        if (work->walk->answer->full || work->walk->answer->broken) {
            atomic_store_explicit(&work->full, true, memory_order_relaxed);
        }
        if (work->idle > 0) {
            pthread_cond_broadcast(&work->changed);
        }
    }
}

/* Writes a long part of a slot early, after waiting until the slot is the first. */
static void on_long_output(void *data)
{
    worker_t *w = data;
    work_t *work = w->work;
    pthread_mutex_lock(&work->lock);
    work->idle++;
    while (work->head != w->slot || work->writing) {
        pthread_cond_wait(&work->changed, &work->lock);
    }
    work->idle--;
    work->writing = true;
    pthread_mutex_unlock(&work->lock);
    ik_grep_answer_add(work->walk->answer, &w->output.part);
    bool full = work->walk->answer->full;
    pthread_mutex_lock(&work->lock);
    work->writing = false;
    if (full) {
        atomic_store_explicit(&work->full, true, memory_order_relaxed);
    }
    pthread_mutex_unlock(&work->lock);
    w->output.measure = full;
}

/* --- working on a slot ------------------------------------------------------------------- */

/* Copies the text to a buffer of its exact size; the thread keeps its large buffer. */
static void move_part(slot_t *slot, ik_grep_part_t *part)
{
    size_t len = part->text.len;
    slot->part.bytes = part->bytes;
    slot->part.lines = part->lines;
    if (len > 0) {
        ik_buffer_init(&slot->part.text, slot, len);
        ik_buffer_append(&slot->part.text, part->text.data, len);
    }
    part->text.len = 0;
    part->bytes = 0;
    part->lines = 0;
}

static void search_batch(worker_t *w, slot_t *slot)
{
    work_t *work = w->work;
    const char *folder = ik_grep_folder_path(slot->folder);
    w->slot = slot;
    w->output.measure = atomic_load_explicit(&work->full, memory_order_relaxed);
    for (const char *name = slot->names; *name != '\0'; name += strlen(name) + 1) {
        int fd = ik_grep_folder_open_file(slot->folder, name, FILE_FLAGS | O_NOFOLLOW);
        int error = fd < 0 ? errno : 0;
        if (fd >= 0) {
            error = ik_grep_search_file(w->search, fd, false, folder, name, &w->output);
            close(fd);
        }
        if (error != 0) {
            ik_grep_report_failure(work->walk->report, "file", folder, name, error);
        }
    }
    move_part(slot, &w->output.part);
}

static void start_threads(work_t *work)
{
    while (work->thread_count < work->thread_max) {
        if (pthread_create(&work->threads[work->thread_count], NULL, work_on, work) != 0) {
            work->thread_max = work->thread_count;
            return;
        }
        work->thread_count++;
    }
}

/* Replaces a slot by the list from first to last, or removes it if first is NULL. */
static void replace_slot(work_t *work, slot_t *slot, slot_t *first, slot_t *last)
{
    slot_t *next = slot->next;
    if (first == NULL) {
        first = next;
        last = slot->previous;
    } else {
        first->previous = slot->previous;
        last->next = next;
    }
    *(slot->previous == NULL ? &work->head : &slot->previous->next) = first;
    if (next != NULL) {
        next->previous = last;
    }
    talloc_free(slot);
}

/* Lists a folder. Called without the lock, left with it held. */
static void expand_folder(worker_t *w, slot_t *slot)
{
    slot_t *first = NULL;
    slot_t *last = NULL;
    const ik_grep_walk_t *walk = w->work->walk;
    ik_grep_folder_t *folder = slot->names == NULL
                                   ? ik_grep_folder_hold(slot->folder)
                                   : ik_grep_folder_open(slot->folder, slot->names, slot->named);
    int error = errno;
    if (folder != NULL) {
        error = ik_grep_folder_list(folder, walk, w->ctx, &w->records, &w->entries);
        first = slots_of(folder, &w->entries, &last);
        ik_grep_folder_release(folder);
    }
    if (error != 0 && slot->names == NULL && first == NULL) {
        walk->report->unreadable = true; /* no lock: no other thread runs yet */
    }
    if (error != 0) {
        ik_grep_report_failure(walk->report, "folder", ik_grep_folder_path(slot->folder),
                               slot->names == NULL ? "" : slot->names, error);
    }
    let_go(slot);
    work_t *work = w->work;
    pthread_mutex_lock(&work->lock);
    replace_slot(work, slot, first, last);
    if (first != last && work->thread_count < work->thread_max) {
        start_threads(work);
    }
}

/* Removes a slot without output, so that the list stays short. Called with the lock held. */
static void finish_slot(work_t *work, slot_t *slot)
{
    if (slot->part.lines == 0) {
        replace_slot(work, slot, NULL, NULL);
        return;
    }
    slot->state = SLOT_DONE;
    work->waiting += slot->part.text.len;
}

/* --- threads ----------------------------------------------------------------------------- */

static void work_until_done(worker_t *w)
{
    work_t *work = w->work;
    pthread_mutex_lock(&work->lock);
    for (;;) {
        slot_t *slot = work->head;
        while (slot != NULL && slot->state != SLOT_FREE) {
            slot = slot->next;
        }
        if (slot == NULL && work->taken == 0) {
            break;
        }
        bool ahead = work->waiting > WAITING_MAX && slot != work->head && work->taken > 0;
        if (slot == NULL || ahead) {
            work->idle++;
            pthread_cond_wait(&work->changed, &work->lock);
            work->idle--;
            continue;
        }
        slot->state = SLOT_TAKEN;
        work->taken++;
        pthread_mutex_unlock(&work->lock);
        bool exhausted = ik_grep_pattern_exhausted(work->walk->pattern);
        if (slot->is_folder && !exhausted) {
            expand_folder(w, slot);
        } else {
            if (!exhausted) {
                search_batch(w, slot);
            }
            let_go(slot);
            pthread_mutex_lock(&work->lock);
            finish_slot(work, slot);
        }
        work->taken--;
        write_finished(work);
        if (work->idle > 0) { /* there may be new slots, more room or another head */
            pthread_cond_broadcast(&work->changed);
        }
    }
    pthread_cond_broadcast(&work->changed);
    pthread_mutex_unlock(&work->lock);
}

static void *work_on(void *data)
{
    worker_t w = {.work = data, .ctx = talloc_new(NULL)};
    ik_buffer_init(&w.records, w.ctx, IK_BUFFER_UNLIMITED); /* bounded by IK_DIR_LIST_MAX */
    w.search = ik_grep_search_create(w.ctx, w.work->walk->pattern);
    ik_buffer_init(&w.output.part.text, w.ctx, IK_BUFFER_UNLIMITED); /* emptied by on_long */
    w.output.line_max = w.work->walk->answer->call->max_output;
    w.output.on_long = on_long_output;
    w.output.data = &w;
    work_until_done(&w);
    talloc_free(w.ctx);
    return NULL;
}

/* Reports that the file or folder to search cannot be read. If it does not exist, that is only a
 * warning. */
static void report_top(const ik_grep_walk_t *walk, int error)
{
    walk->report->unreadable = error != ENOENT && error != ENOTDIR;
    ik_warning_list_add(&walk->report->warnings, walk->path[0] == '\0' ? "folder" : "path",
                        walk->path[0] == '\0' ? "." : walk->path, "", error);
}

static void walk_folder(const ik_grep_walk_t *walk)
{
    ik_grep_folder_t *top = ik_grep_folder_open_top(walk);
    if (top == NULL) {
        report_top(walk, errno);
        return;
    }
    cpu_set_t set;
    size_t processors = sched_getaffinity(0, sizeof(set), &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
    slot_t *slot = ik_new(NULL, slot_t);
    slot->folder = top;
    slot->is_folder = true;
    work_t work = {.walk = walk, .head = slot};
    work.thread_max = (processors < THREADS_MAX ? processors : THREADS_MAX) - 1;
    pthread_mutex_init(&work.lock, NULL);
    pthread_cond_init(&work.changed, NULL);
    work_on(&work);
    for (size_t i = 0; i < work.thread_count; i++) {
        pthread_join(work.threads[i], NULL);
    }
    pthread_cond_destroy(&work.changed);
    pthread_mutex_destroy(&work.lock);
}

/* --- a single file ----------------------------------------------------------------------- */

typedef struct {
    ik_grep_answer_t *answer;
    ik_grep_search_output_t output;
} single_t;

static void on_long_single(void *data)
{
    single_t *single = data;
    ik_grep_answer_add(single->answer, &single->output.part);
    single->output.measure = single->answer->full;
}

static void search_single(const ik_grep_walk_t *walk)
{
    const char *slash = strrchr(walk->path, '/');
    const char *name = slash == NULL ? walk->path : slash + 1;
    if (!ik_grep_filter_accepts(walk->filter, "", name)) {
        ik_warning_list_add_text(&walk->report->warnings, "The file does not match the glob");
        return;
    }
    int fd = open(walk->path, FILE_FLAGS);
    if (fd < 0) {
        report_top(walk, errno);
        return;
    }
    void *ctx = talloc_new(NULL);
    single_t single = {.answer = walk->answer};
    ik_buffer_init(&single.output.part.text, ctx, IK_BUFFER_UNLIMITED); /* emptied by on_long */
    single.output.line_max = walk->answer->call->max_output;
    single.output.on_long = on_long_single;
    single.output.data = &single;
    int error = ik_grep_search_file(ik_grep_search_create(ctx, walk->pattern), fd, true, "",
                                    walk->path, &single.output);
    if (error != 0) {
        report_top(walk, error);
    }
    ik_grep_answer_add(walk->answer, &single.output.part);
    talloc_free(ctx);
    close(fd);
}

void ik_grep_walk_run(const ik_grep_walk_t *walk)
{
    struct stat st;
    if (walk->path[0] != '\0' && stat(walk->path, &st) == 0 && S_ISREG(st.st_mode)) {
        search_single(walk);
    } else {
        walk_folder(walk);
    }
}

/*
 * States are taken from the youngest to the oldest, each with its bases, as long as the contents
 * they need fit into the limit. What is not needed then goes.
 */
#include "checkpoint/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "checkpoint/content_store.h"
#include "checkpoint/git_objects.h"
#include "checkpoint/state.h"
#include "checkpoint/taker.h"

/* States this young may belong to a running session that has not recorded them yet. */
enum { YOUNG_SECONDS = 600, LOADED_MAX = 64 };

typedef struct {
    char id[IK_STATE_ID_SIZE];
    int64_t time_ns;
    uint64_t size;
    bool wanted; /* asked for */
    bool held;
    bool needed; /* stays */
    bool whole;  /* with its contents */
} item_t;

/* A set of names of contents. */
typedef struct {
    unsigned char (*slots)[IK_BLAKE2B_SIZE];
    size_t size; /* a power of two */
    size_t count;
} names_t;

typedef struct {
    ik_states_t *states;
    ik_states_t *loaded; /* emptied now and then */
    size_t uses;
    ik_contents_t *contents;
    item_t *items;
    size_t count;
    names_t names;
    char (*keys)[33]; /* of repositories */
    size_t key_count;
    uint64_t total;
} sweep_t;

/* --- names ------------------------------------------------------------------------------------ */

static bool is_free(const unsigned char *slot)
{
    static const unsigned char none[IK_BLAKE2B_SIZE];
    return memcmp(slot, none, IK_BLAKE2B_SIZE) == 0;
}

static unsigned char *slot_of(const names_t *names, const unsigned char *name)
{
    uint64_t hash;
    memcpy(&hash, name, sizeof(hash));
    for (size_t at = hash;; at++) {
        unsigned char *slot = names->slots[at & (names->size - 1)];
        if (is_free(slot) || memcmp(slot, name, IK_BLAKE2B_SIZE) == 0) {
            return slot;
        }
    }
}

/* Returns whether the name is new. */
static bool add_name(names_t *names, const void *ctx, const unsigned char *name)
{
    if (names->count * 2 >= names->size) {
        names_t larger = {.size = names->size == 0 ? 4096 : names->size * 2, .count = names->count};
        larger.slots = ik_alloc_array(ctx, IK_BLAKE2B_SIZE, larger.size, "names");
        for (size_t i = 0; i < names->size; i++) {
            if (!is_free(names->slots[i])) {
                memcpy(slot_of(&larger, names->slots[i]), names->slots[i], IK_BLAKE2B_SIZE);
            }
        }
        talloc_free(names->slots);
        *names = larger;
    }
    unsigned char *slot = slot_of(names, name);
    if (!is_free(slot)) {
        return false;
    }
    memcpy(slot, name, IK_BLAKE2B_SIZE);
    names->count++;
    return true;
}

static bool is_needed_name(void *data, const unsigned char name[IK_BLAKE2B_SIZE])
{
    const sweep_t *sweep = data;
    return sweep->names.size > 0 && !is_free(slot_of(&sweep->names, name));
}

static bool is_needed_key(void *data, const char *key)
{
    const sweep_t *sweep = data;
    for (size_t i = 0; i < sweep->key_count; i++) {
        if (strcmp(sweep->keys[i], key) == 0) {
            return true;
        }
    }
    return false;
}

/* --- states ------------------------------------------------------------------------------------
 */

static bool contains(const char *const *ids, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(ids[i], id) == 0) {
            return true;
        }
    }
    return false;
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(((const item_t *)a)->id, ((const item_t *)b)->id);
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_times(const void *a, const void *b)
{
    const item_t *x = *(item_t *const *)a;
    const item_t *y = *(item_t *const *)b;
    return (x->time_ns < y->time_ns) - (x->time_ns > y->time_ns);
}

static void list_states(sweep_t *sweep, const ik_sweep_request_t *request)
{
    char *path = ik_sprintf(sweep->states, "%s/states", request->blobs);
    DIR *list = opendir(path);
    const char **keep = ik_new_array(sweep->states, const char *, request->keep_count);
    if (request->keep_count > 0) {
        memcpy(keep, request->keep, request->keep_count * sizeof(*keep));
        qsort(keep, request->keep_count, sizeof(*keep), compare_text);
    }
    size_t room = 0;
    for (const struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;) {
        struct stat st;
        const char *name = entry->d_name;
        if (!ik_states_id_valid(name) ||
            fstatat(dirfd(list), name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            continue;
        }
        if (sweep->count == room) {
            room = room == 0 ? 64 : room * 2;
            sweep->items = ik_resize_array(sweep->states, sweep->items, item_t, room);
        }
        item_t *item = &sweep->items[sweep->count++];
        *item = (item_t){.size = (uint64_t)st.st_size};
        memcpy(item->id, name, sizeof(item->id));
        item->time_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        item->held = contains(request->held, request->held_count, name);
        item->wanted = item->held || request->keep_all ||
                       (request->keep_count > 0 &&
                        bsearch(&name, keep, request->keep_count, sizeof(*keep), compare_text));
    }
    if (list != NULL) {
        closedir(list);
    }
    if (sweep->count > 1) {
        qsort(sweep->items, sweep->count, sizeof(item_t), compare_ids);
    }
}

static item_t *find_item(const sweep_t *sweep, const char *id)
{
    item_t wanted;
    memcpy(wanted.id, id, sizeof(wanted.id));
    return sweep->count == 0
               ? NULL
               : bsearch(&wanted, sweep->items, sweep->count, sizeof(item_t), compare_ids);
}

/* Whether a state belongs to a running session that has had no time to record it. */
static bool is_in_use(const item_t *item, const ik_state_t *state)
{
    return time(NULL) - item->time_ns / 1000000000 < YOUNG_SECONDS && state->taker != getppid() &&
           ik_taker_start_time(state->taker) == state->taker_started && state->taker_started != 0;
}

static void need_repositories(sweep_t *sweep, const ik_state_t *state)
{
    for (size_t i = 0; i < state->repository_count; i++) {
        if (!is_needed_key(sweep, state->repositories[i].key)) {
            sweep->keys = ik_alloc_resize(sweep->states, sweep->keys, sizeof(*sweep->keys),
                                          sweep->key_count + 1, "keys");
            memcpy(sweep->keys[sweep->key_count++], state->repositories[i].key, 33);
        }
    }
}

/* Adds a state, if the contents it needs fit; held ones always do. Its bases stay with it, though
 * not their contents. Returns false when it does not fit. */
static bool need(sweep_t *sweep, item_t *item, uint64_t max_bytes)
{
    void *scratch = talloc_new(NULL);
    if (sweep->loaded == NULL || ++sweep->uses % LOADED_MAX == 0) {
        talloc_free(sweep->loaded);
        sweep->loaded = ik_states_create(sweep->states, ik_states_blobs(sweep->states));
    }
    ik_state_t *state;
    res_t result = ik_states_load(sweep->loaded, item->id, &state);
    if (is_err(&result)) {
        talloc_free(scratch);
        return true; /* it is damaged, and goes */
    }
    size_t count;
    ik_state_item_t *entries = ik_state_list(scratch, state, &count);
    names_t added = {0};
    uint64_t more = 0;
    for (size_t i = 0; i < count; i++) {
        const unsigned char *name = entries[i].entry->name;
        if (entries[i].entry->naming == IK_NAMED_BLAKE2B && !is_needed_name(sweep, name) &&
            add_name(&added, scratch, name)) {
            more += ik_contents_size(sweep->contents, name);
        }
    }
    bool fits = item->held || sweep->total + more <= max_bytes;
    if (fits) {
        sweep->total += more;
        for (size_t i = 0; i < added.size; i++) {
            if (!is_free(added.slots[i])) {
                add_name(&sweep->names, sweep->states, added.slots[i]);
            }
        }
        for (const ik_state_t *layer = state; layer != NULL; layer = layer->base) {
            item_t *found = find_item(sweep, layer->id);
            if (found != NULL) {
                found->needed = true;
            }
            need_repositories(sweep, layer);
        }
        item->whole = true;
    }
    talloc_free(scratch);
    return fits;
}

static void mark_in_use(sweep_t *sweep)
{
    for (size_t i = 0; i < sweep->count; i++) {
        item_t *item = &sweep->items[i];
        if (item->wanted || time(NULL) - item->time_ns / 1000000000 >= YOUNG_SECONDS) {
            continue;
        }
        ik_state_t *state;
        char base[IK_STATE_ID_SIZE];
        void *scratch = talloc_new(NULL);
        res_t loaded = ik_states_load_alone(sweep->states, item->id, scratch, &state, base);
        item->wanted = is_ok(&loaded) && is_in_use(item, state);
        talloc_free(scratch);
    }
}

static void choose(sweep_t *sweep, uint64_t max_bytes)
{
    item_t **order = ik_new_array(sweep->states, item_t *, sweep->count);
    for (size_t i = 0; i < sweep->count; i++) {
        order[i] = &sweep->items[i];
        if (order[i]->held) {
            need(sweep, order[i], max_bytes);
        }
    }
    if (sweep->count > 1) {
        qsort(order, sweep->count, sizeof(*order), compare_times);
    }
    for (size_t i = 0; i < sweep->count; i++) {
        if (order[i]->wanted && !order[i]->whole && !need(sweep, order[i], max_bytes)) {
            break;
        }
    }
}

res_t ik_sweep_lock(const char *blobs, bool exclusive)
{
    static int fd = -1;
    if (fd < 0) {
        TRY(ik_file_make_private_folder(blobs));
        char *path = ik_sprintf(NULL, "%s/lock", blobs);
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        talloc_free(path);
    }
    int locked = -1;
    while (fd >= 0 && (locked = flock(fd, exclusive ? LOCK_EX : LOCK_SH)) != 0 && errno == EINTR) {
    }
    return locked == 0 ? OK : ERR(SYSTEM, "Cannot lock %s: %s", blobs, strerror(errno));
}

res_t ik_sweep_run(const void *ctx, const ik_sweep_request_t *request, ik_sweep_t *out)
{
    *out = (ik_sweep_t){0};
    sweep_t sweep = {.states = ik_states_create(ctx, request->blobs),
                     .contents = ik_contents_create(ctx, request->blobs)};
    ik_git_objects_t *objects = ik_git_objects_create(ctx, request->blobs);
    list_states(&sweep, request);
    mark_in_use(&sweep);
    /* What only the links keep of repositories counts, and cannot be told apart by state. */
    sweep.total = ik_git_objects_total(objects);
    if (sweep.total > request->max_bytes / 2) {
        sweep.total = request->max_bytes / 2;
    }
    choose(&sweep, request->max_bytes);
    for (size_t i = 0; i < sweep.count; i++) {
        const item_t *item = &sweep.items[i];
        if (!item->needed) {
            char *path = ik_sprintf(ctx, "%s/states/%s", request->blobs, item->id);
            out->bytes += unlink(path) == 0 ? item->size : 0;
        }
    }
    ik_states_drop_names(sweep.states);
    ik_contents_sweep(sweep.contents, is_needed_name, &sweep, &out->removed, &out->bytes);
    out->bytes += ik_git_objects_sweep(objects, is_needed_key, &sweep);
    return OK;
}

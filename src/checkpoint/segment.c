#include "checkpoint/segment.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

typedef struct {
    const char *path;
    size_t len;
    size_t segment;
} candidate_t;

typedef struct {
    candidate_t *items;
    size_t count;
    size_t room;
} candidates_t;

/* What a list of states says about a path; NULL: nothing. */
static const ik_entry_t *tell(ik_state_t *const *states, size_t count, const char *path, size_t len,
                              const ik_state_t **owner)
{
    const ik_entry_t *entry;
    for (size_t i = count; i > 0; i--) {
        if (ik_state_tells(states[i - 1], path, len, &entry, owner)) {
            return entry;
        }
    }
    return NULL;
}

static bool uses(ik_state_t *const *states, size_t count, const ik_state_t *layer)
{
    for (size_t i = 0; i < count; i++) {
        for (const ik_state_t *state = states[i]; state != NULL; state = state->base) {
            if (state == layer) {
                return true;
            }
        }
    }
    return false;
}

/* Adds the paths that these states list and the others do not share. */
static void add_candidates(candidates_t *out, const void *ctx, size_t segment,
                           ik_state_t *const *states, size_t count, ik_state_t *const *others,
                           size_t other_count)
{
    for (size_t i = 0; i < count; i++) {
        for (const ik_state_t *layer = states[i];
             layer != NULL && !uses(others, other_count, layer); layer = layer->base) {
            for (size_t e = 0; e < layer->count; e++) {
                const ik_entry_t *entry = &layer->entries[e];
                if (entry->path_len == 0 || entry->path[entry->path_len - 1] == '/' ||
                    entry->kind == IK_ENTRY_IGNORED) {
                    continue;
                }
                if (out->count == out->room) {
                    out->room = out->room == 0 ? 256 : out->room * 2;
                    out->items = ik_resize_array(ctx, out->items, candidate_t, out->room);
                }
                out->items[out->count++] = (candidate_t){entry->path, entry->path_len, segment};
            }
        }
    }
}

static int compare_candidates(const void *a, const void *b)
{
    const candidate_t *x = a;
    const candidate_t *y = b;
    int order = ik_state_compare_paths(x->path, x->len, y->path, y->len);
    return order != 0 ? order : (x->segment > y->segment) - (x->segment < y->segment);
}

/* Records what a segment did to the path; nothing when it did not change it. */
static void note(ik_change_t *change, ik_place_t *place, const ik_segment_t *segment)
{
    const ik_state_t *before_owner = NULL;
    const ik_state_t *after_owner = NULL;
    const ik_entry_t *before =
        tell(segment->before, segment->before_count, change->path, change->len, &before_owner);
    const ik_entry_t *after =
        tell(segment->after, segment->after_count, change->path, change->len, &after_owner);
    if (before == NULL || after == NULL ||
        ik_place_same(place, before, before_owner, after, after_owner)) {
        return;
    }
    if (change->before == NULL) {
        change->before = before;
        change->before_owner = before_owner;
        change->first = segment;
    } else if (!ik_place_same(place, change->after, change->after_owner, before, before_owner)) {
        change->between = true;
    }
    change->after = after;
    change->after_owner = after_owner;
}

ik_change_t *ik_segment_changes(const void *ctx, ik_place_t *place, const ik_segment_t *segments,
                                size_t count, size_t *change_count)
{
    candidates_t candidates = {0};
    for (size_t i = 0; i < count; i++) {
        const ik_segment_t *segment = &segments[i];
        add_candidates(&candidates, ctx, i, segment->before, segment->before_count, segment->after,
                       segment->after_count);
        add_candidates(&candidates, ctx, i, segment->after, segment->after_count, segment->before,
                       segment->before_count);
    }
    if (candidates.count > 1) {
        qsort(candidates.items, candidates.count, sizeof(candidate_t), compare_candidates);
    }
    ik_change_t *changes = NULL;
    size_t n = 0;
    size_t room = 0;
    for (size_t i = 0; i < candidates.count;) {
        const candidate_t *first = &candidates.items[i];
        ik_change_t change = {.path = first->path, .len = first->len};
        for (size_t last = count; i < candidates.count; i++) {
            const candidate_t *item = &candidates.items[i];
            if (item->len != first->len || memcmp(item->path, first->path, first->len) != 0) {
                break;
            }
            if (item->segment != last) {
                note(&change, place, &segments[item->segment]);
                last = item->segment;
            }
        }
        if (change.before != NULL) {
            if (n == room) {
                room = room == 0 ? 64 : room * 2;
                changes = ik_resize_array(ctx, changes, ik_change_t, room);
            }
            changes[n++] = change;
        }
    }
    talloc_free(candidates.items);
    *change_count = n;
    return changes;
}

bool ik_segment_had_folder(const ik_segment_t *segment, const char *path, size_t len)
{
    for (size_t i = 0; i < segment->before_count; i++) {
        if (ik_state_has_folder(segment->before[i], path, len)) {
            return true;
        }
        /* A named file that was not there tells which of its folders were. */
        const ik_state_t *state = segment->before[i];
        for (size_t e = 0; e < state->count; e++) {
            const ik_entry_t *entry = &state->entries[e];
            if (entry->kind == IK_ENTRY_ABSENT && entry->size >= len && entry->path_len > len &&
                entry->path[len] == '/' && memcmp(entry->path, path, len) == 0) {
                return true;
            }
        }
    }
    return false;
}

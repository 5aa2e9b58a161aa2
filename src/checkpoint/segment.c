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

/* --- another folder -------------------------------------------------------------------------- */

static bool has_folder(ik_state_t *const *states, size_t count, const char *folder)
{
    size_t i = 0;
    while (i < count && strcmp(states[i]->folder, folder) == 0) {
        i++;
    }
    return i == count;
}

bool ik_segment_is_elsewhere(const ik_segment_t *segment, const ik_place_t *place)
{
    return !has_folder(segment->before, segment->before_count, place->folder) ||
           !has_folder(segment->after, segment->after_count, place->folder);
}

/* The path of a state of `folder` as states of the place write it. */
static const char *translate(const void *ctx, const ik_place_t *place, const char *folder,
                             const char *path, size_t len)
{
    size_t place_len = strlen(place->folder);
    const char *whole =
        path[0] == '/'
            ? ik_strndup(ctx, path, len)
            : ik_sprintf(ctx, "%s/%.*s", strcmp(folder, "/") == 0 ? "" : folder, (int)len, path);
    bool inside = strncmp(whole, place->folder, place_len) == 0 && whole[place_len] == '/';
    return inside ? whole + place_len + 1 : whole;
}

static int compare_entries(const void *a, const void *b)
{
    const ik_entry_t *x = a;
    const ik_entry_t *y = b;
    return ik_state_compare_paths(x->path, x->path_len, y->path, y->path_len);
}

/* States that list the translated entries, one for each state that had them, since entries refer to
 * its repositories. */
typedef struct {
    ik_state_t **states;
    const ik_state_t **owners;
    size_t count;
} translation_t;

static void add_entry(const void *ctx, translation_t *out, const ik_place_t *place,
                      const ik_entry_t *entry, const ik_state_t *owner)
{
    size_t i = 0;
    while (i < out->count && out->owners[i] != owner) {
        i++;
    }
    if (i == out->count) {
        out->states = ik_resize_array(ctx, out->states, ik_state_t *, i + 1);
        out->owners = ik_resize_array(ctx, out->owners, const ik_state_t *, i + 1);
        out->states[i] = ik_new(ctx, ik_state_t);
        out->states[i]->folder = place->folder;
        out->states[i]->repositories = owner->repositories;
        out->states[i]->repository_count = owner->repository_count;
        out->owners[i] = owner;
        out->count++;
    }
    ik_state_t *state = out->states[i];
    state->entries = ik_resize_array(state, state->entries, ik_entry_t, state->count + 1);
    state->entries[state->count++] = *entry;
}

void ik_segment_translate(const void *ctx, ik_segment_t *segment, ik_place_t *place)
{
    size_t count;
    const ik_change_t *changes = ik_segment_changes(ctx, place, segment, 1, &count);
    translation_t before = {0};
    translation_t after = {0};
    for (size_t i = 0; i < count; i++) {
        const ik_change_t *change = &changes[i];
        const char *folder = change->after_owner->folder;
        const char *path = translate(ctx, place, folder, change->path, change->len);
        size_t existing = change->len; /* of the path, in folders */
        while (existing > 0 && (existing == change->len || change->path[existing] != '/' ||
                                !ik_segment_had_folder(segment, change->path, existing))) {
            existing--;
        }
        size_t len = strlen(path);
        size_t rest = change->len - existing;
        ik_entry_t was = *change->before;
        ik_entry_t is = *change->after;
        was.path = is.path = path;
        was.path_len = is.path_len = (uint32_t)len;
        if (was.kind == IK_ENTRY_ABSENT) {
            was.size = len > rest ? len - rest : 0;
        }
        add_entry(ctx, &before, place, &was, change->before_owner);
        add_entry(ctx, &after, place, &is, change->after_owner);
    }
    for (size_t i = 0; i < before.count; i++) {
        qsort(before.states[i]->entries, before.states[i]->count, sizeof(ik_entry_t),
              compare_entries);
    }
    for (size_t i = 0; i < after.count; i++) {
        qsort(after.states[i]->entries, after.states[i]->count, sizeof(ik_entry_t),
              compare_entries);
    }
    *segment = (ik_segment_t){.before = before.states,
                              .before_count = before.count,
                              .after = after.states,
                              .after_count = after.count};
}

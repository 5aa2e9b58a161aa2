#include "terminal/pager_parts.h"

#include "base/alloc.h"

typedef struct {
    ik_pager_part_t *part; /* NULL: free */
    size_t number;
    uint64_t used; /* when, counted in uses */
} slot_t;

struct ik_pager_parts {
    ik_pager_source_t source;
    int columns;
    slot_t slots[IK_PAGER_PARTS_MAX];
    size_t bytes;
    uint64_t uses;
};

ik_pager_parts_t *ik_pager_parts_create(const void *ctx, const ik_pager_source_t *source,
                                        int columns)
{
    ik_pager_parts_t *parts = ik_new(ctx, ik_pager_parts_t);
    parts->source = *source;
    parts->columns = columns;
    return parts;
}

size_t ik_pager_parts_count(const ik_pager_parts_t *parts)
{
    return parts->source.count;
}

/* --- keeping ----------------------------------------------------------------------------- */

static void forget(ik_pager_parts_t *parts, slot_t *slot)
{
    if (slot->part != NULL) {
        parts->bytes -= ik_pager_part_size(slot->part);
        TALLOC_FREE(slot->part);
    }
}

void ik_pager_parts_resize(ik_pager_parts_t *parts, int columns)
{
    for (size_t i = 0; i < IK_PAGER_PARTS_MAX; i++) {
        forget(parts, &parts->slots[i]);
    }
    parts->columns = columns;
}

static slot_t *find(ik_pager_parts_t *parts, size_t number)
{
    for (size_t i = 0; i < IK_PAGER_PARTS_MAX; i++) {
        if (parts->slots[i].part != NULL && parts->slots[i].number == number) {
            return &parts->slots[i];
        }
    }
    return NULL;
}

/* The one that was used longest ago. */
static slot_t *find_oldest(ik_pager_parts_t *parts)
{
    slot_t *oldest = NULL;
    for (size_t i = 0; i < IK_PAGER_PARTS_MAX; i++) {
        slot_t *slot = &parts->slots[i];
        if (slot->part != NULL && (oldest == NULL || slot->used < oldest->used)) {
            oldest = slot;
        }
    }
    return oldest;
}

static slot_t *find_free(ik_pager_parts_t *parts)
{
    for (size_t i = 0; i < IK_PAGER_PARTS_MAX; i++) {
        if (parts->slots[i].part == NULL) {
            return &parts->slots[i];
        }
    }
    slot_t *oldest = find_oldest(parts);
    forget(parts, oldest);
    return oldest;
}

static int text_columns(int columns)
{
    return columns > 1 ? columns - 1 : 1;
}

static slot_t *load(ik_pager_parts_t *parts, size_t number)
{
    ik_pager_part_t *part = ik_pager_part_create(parts, &parts->source, number, parts->columns);
    ik_pager_part_wrap(part, text_columns(parts->columns));
    while (parts->bytes > IK_PAGER_BYTES_MAX) {
        forget(parts, find_oldest(parts));
    }
    slot_t *slot = find_free(parts);
    parts->bytes += ik_pager_part_size(part);
    *slot = (slot_t){.part = part, .number = number};
    return slot;
}

const ik_pager_part_t *ik_pager_parts_get(ik_pager_parts_t *parts, size_t number)
{
    slot_t *slot = find(parts, number);
    if (slot == NULL) {
        slot = load(parts, number);
    }
    slot->used = ++parts->uses;
    return slot->part;
}

void ik_pager_parts_append_plain(ik_pager_parts_t *parts, size_t number, bool folded,
                                 ik_buffer_t *out)
{
    const slot_t *slot = find(parts, number);
    ik_pager_part_t *unkept = NULL;
    if (slot == NULL) {
        unkept = ik_pager_part_create(parts, &parts->source, number, parts->columns);
    }
    const ik_buffer_t *bytes = slot == NULL ? &unkept->bytes : &slot->part->bytes;
    ik_pager_part_append_plain(out, bytes->data, bytes->len, folded);
    talloc_free(unkept);
}

/* --- places ------------------------------------------------------------------------------ */

/* The first line of the first part from number on that has one. */
static bool find_on(ik_pager_parts_t *parts, size_t number, ik_pager_place_t *place)
{
    for (size_t i = number; i < parts->source.count; i++) {
        if (ik_pager_parts_get(parts, i)->count > 0) {
            *place = (ik_pager_place_t){.part = i};
            return true;
        }
    }
    return false;
}

/* The last line of the last part before number that has one. */
static bool find_back(ik_pager_parts_t *parts, size_t number, ik_pager_place_t *place)
{
    for (size_t i = number; i-- > 0;) {
        size_t count = ik_pager_parts_get(parts, i)->count;
        if (count > 0) {
            *place = (ik_pager_place_t){.part = i, .line = count - 1};
            return true;
        }
    }
    return false;
}

bool ik_pager_parts_first(ik_pager_parts_t *parts, ik_pager_place_t *place)
{
    return find_on(parts, 0, place);
}

bool ik_pager_parts_last(ik_pager_parts_t *parts, ik_pager_place_t *place)
{
    return find_back(parts, parts->source.count, place);
}

static bool step_on(ik_pager_parts_t *parts, ik_pager_place_t *place)
{
    if (place->line + 1 < ik_pager_parts_get(parts, place->part)->count) {
        place->line++;
        return true;
    }
    return find_on(parts, place->part + 1, place);
}

static bool step_back(ik_pager_parts_t *parts, ik_pager_place_t *place)
{
    if (place->line > 0) {
        place->line--;
        return true;
    }
    return find_back(parts, place->part, place);
}

size_t ik_pager_parts_move(ik_pager_parts_t *parts, ik_pager_place_t *place, ptrdiff_t lines)
{
    size_t wanted = (size_t)(lines < 0 ? -lines : lines);
    size_t went = 0;
    while (went < wanted && (lines < 0 ? step_back : step_on)(parts, place)) {
        went++;
    }
    return went;
}

#include "agent/id_set.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

/* Open addressing; a slot of 0 is free; at most half full. */
struct ik_id_set {
    uint64_t *slots;
    size_t capacity; /* a power of two */
    size_t count;
};

static uint64_t hash_of(const char *id)
{
    uint64_t hash = ik_hash_bytes(id, strlen(id));
    return hash == 0 ? 1 : hash;
}

ik_id_set_t *ik_id_set_create(const void *ctx)
{
    ik_id_set_t *set = ik_new(ctx, ik_id_set_t);
    set->capacity = 64;
    set->slots = ik_new_array(set, uint64_t, set->capacity);
    return set;
}

static size_t slot_of(const ik_id_set_t *set, uint64_t hash)
{
    size_t slot = hash & (set->capacity - 1);
    while (set->slots[slot] != 0 && set->slots[slot] != hash) {
        slot = (slot + 1) & (set->capacity - 1);
    }
    return slot;
}

static void grow(ik_id_set_t *set)
{
    uint64_t *old = set->slots;
    size_t old_capacity = set->capacity;
    set->capacity *= 2;
    set->slots = ik_new_array(set, uint64_t, set->capacity);
    for (size_t i = 0; i < old_capacity; i++) {
        if (old[i] != 0) {
            set->slots[slot_of(set, old[i])] = old[i];
        }
    }
    talloc_free(old);
}

void ik_id_set_add(ik_id_set_t *set, const char *id)
{
    uint64_t hash = hash_of(id);
    size_t slot = slot_of(set, hash);
    if (set->slots[slot] == hash) {
        return;
    }
    set->slots[slot] = hash;
    if (2 * ++set->count > set->capacity) {
        grow(set);
    }
}

bool ik_id_set_has(const ik_id_set_t *set, const char *id)
{
    return set->slots[slot_of(set, hash_of(id))] != 0;
}

#include "checkpoint/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "checkpoint/blake2b.h"

static int on_free(ik_place_t *place)
{
    if (place->root >= 0) {
        close(place->root);
    }
    if (place->slash >= 0) {
        close(place->slash);
    }
    return 0;
}

res_t ik_place_open(const void *ctx, const char *folder, const char *blobs, ik_place_t **out)
{
    ik_place_t *place = ik_new(ctx, ik_place_t);
    place->root = -1;
    place->slash = -1;
    talloc_set_destructor(place, on_free);
    place->blobs = ik_strdup(place, blobs);
    char *real = realpath(folder, NULL);
    if (real == NULL) {
        return ERR(SYSTEM, "Cannot open %s: %s", folder, strerror(errno));
    }
    place->folder = ik_strdup(place, real);
    free(real);
    place->root = open(place->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    place->slash = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (place->root < 0 || place->slash < 0) {
        return ERR(SYSTEM, "Cannot open %s: %s", folder, strerror(errno));
    }
    place->states = ik_states_create(place, blobs);
    place->contents = ik_contents_create(place, blobs);
    *out = place;
    return OK;
}

bool ik_place_content(ik_place_t *place, const ik_entry_t *entry, const ik_state_t *owner,
                      ik_buffer_t *out)
{
    (void)owner;
    return entry->naming == IK_NAMED_BLAKE2B &&
           ik_contents_get(place->contents, entry->name, entry->size, out) == 0;
}

/* Compares contents that are named in different ways. */
static bool same_bytes(ik_place_t *place, const ik_entry_t *a, const ik_state_t *a_owner,
                       const ik_entry_t *b, const ik_state_t *b_owner)
{
    void *scratch = talloc_new(NULL);
    ik_buffer_t x;
    ik_buffer_t y;
    ik_buffer_init(&x, scratch, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&y, scratch, IK_BUFFER_UNLIMITED);
    bool same = ik_place_content(place, a, a_owner, &x) &&
                ik_place_content(place, b, b_owner, &y) && x.len == y.len &&
                (x.len == 0 || memcmp(x.data, y.data, x.len) == 0);
    talloc_free(scratch);
    return same;
}

bool ik_place_same(ik_place_t *place, const ik_entry_t *a, const ik_state_t *a_owner,
                   const ik_entry_t *b, const ik_state_t *b_owner)
{
    if (a->kind == IK_ENTRY_UNKEPT || b->kind == IK_ENTRY_UNKEPT) {
        return ik_entry_same_stat(a, b);
    }
    bool none = a->kind != IK_ENTRY_FILE && a->kind != IK_ENTRY_LINK;
    if (a->kind != b->kind || none) {
        return a->kind == b->kind;
    }
    if (a->kind == IK_ENTRY_FILE && ((a->mode ^ b->mode) & 07777) != 0) {
        return false;
    }
    if (a->size != b->size) {
        return false;
    }
    if (a->naming == b->naming) {
        return memcmp(a->name, b->name, ik_naming_size(a->naming)) == 0;
    }
    return same_bytes(place, a, a_owner, b, b_owner);
}

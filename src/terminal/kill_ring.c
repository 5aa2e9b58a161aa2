#include "terminal/kill_ring.h"

#include <string.h>

#include "base/alloc.h"

typedef struct {
    char *text;
    size_t len;
} piece_t;

struct ik_kill_ring {
    piece_t pieces[IK_KILL_RING_MAX]; /* newest first */
    size_t count;
    size_t current;
};

ik_kill_ring_t *ik_kill_ring_create(const void *ctx)
{
    return ik_new(ctx, ik_kill_ring_t);
}

static void drop_oldest(ik_kill_ring_t *ring)
{
    talloc_free(ring->pieces[--ring->count].text);
}

/* Always keeps the newest piece, which the size of a draft bounds. */
static void keep_in_bounds(ik_kill_ring_t *ring)
{
    size_t bytes = 0;
    for (size_t i = 0; i < ring->count; i++) {
        bytes += ring->pieces[i].len;
    }
    while (ring->count > 1 && bytes > IK_KILL_RING_BYTES) {
        bytes -= ring->pieces[ring->count - 1].len;
        drop_oldest(ring);
    }
    ring->current = 0;
}

void ik_kill_ring_push(ik_kill_ring_t *ring, const char *text, size_t len)
{
    if (ring->count == IK_KILL_RING_MAX) {
        drop_oldest(ring);
    }
    memmove(ring->pieces + 1, ring->pieces, ring->count * sizeof(piece_t));
    ring->pieces[0] = (piece_t){.text = ik_strndup(ring, text, len), .len = len};
    ring->count++;
    keep_in_bounds(ring);
}

void ik_kill_ring_join(ik_kill_ring_t *ring, const char *text, size_t len, bool before)
{
    if (ring->count == 0) {
        ik_kill_ring_push(ring, text, len);
        return;
    }
    piece_t *piece = &ring->pieces[0];
    piece->text = ik_resize_array(ring, piece->text, char, piece->len + len + 1);
    if (before) {
        memmove(piece->text + len, piece->text, piece->len);
    }
    memcpy(piece->text + (before ? 0 : piece->len), text, len);
    piece->len += len;
    piece->text[piece->len] = '\0';
    keep_in_bounds(ring);
}

const char *ik_kill_ring_current(const ik_kill_ring_t *ring, size_t *len)
{
    return ring->count == 0 ? NULL : ik_kill_ring_piece(ring, ring->current, len);
}

void ik_kill_ring_rotate(ik_kill_ring_t *ring)
{
    ring->current = ring->count == 0 ? 0 : (ring->current + 1) % ring->count;
}

size_t ik_kill_ring_count(const ik_kill_ring_t *ring)
{
    return ring->count;
}

const char *ik_kill_ring_piece(const ik_kill_ring_t *ring, size_t index, size_t *len)
{
    *len = ring->pieces[index].len;
    return ring->pieces[index].text;
}

void ik_kill_ring_replace(ik_kill_ring_t *ring, size_t index, const char *text, size_t len)
{
    talloc_free(ring->pieces[index].text);
    ring->pieces[index] = (piece_t){.text = ik_strndup(ring, text, len), .len = len};
    size_t current = ring->current;
    keep_in_bounds(ring);
    ring->current = current < ring->count ? current : 0;
}

/* What was killed, to be yanked: the last few pieces, newest first. Kept from draft to draft. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct ik_kill_ring ik_kill_ring_t;

enum { IK_KILL_RING_MAX = 32, IK_KILL_RING_BYTES = 32 * 1024 * 1024 };

ik_kill_ring_t *ik_kill_ring_create(const void *ctx);
/* A piece of its own, the current one from now on. */
void ik_kill_ring_push(ik_kill_ring_t *ring, const char *text, size_t len);
/* Joined to the newest piece, before or behind it. */
void ik_kill_ring_join(ik_kill_ring_t *ring, const char *text, size_t len, bool before);

/* The piece a yank takes; NULL: there is none. */
const char *ik_kill_ring_current(const ik_kill_ring_t *ring, size_t *len);
/* The next older one becomes the current; behind the oldest comes the newest. */
void ik_kill_ring_rotate(ik_kill_ring_t *ring);

/* All of them, 0 the newest, for whoever must rewrite what is in them. */
size_t ik_kill_ring_count(const ik_kill_ring_t *ring);
const char *ik_kill_ring_piece(const ik_kill_ring_t *ring, size_t index, size_t *len);
void ik_kill_ring_replace(ik_kill_ring_t *ring, size_t index, const char *text, size_t len);

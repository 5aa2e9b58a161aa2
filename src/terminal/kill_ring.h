/* The kill ring: the last pieces of text that were cut. It survives from draft to draft. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct ik_kill_ring ik_kill_ring_t;

enum { IK_KILL_RING_MAX = 32, IK_KILL_RING_BYTES = 32 * 1024 * 1024 };

ik_kill_ring_t *ik_kill_ring_create(const void *ctx);
/* Adds a piece, which becomes the current one. */
void ik_kill_ring_push(ik_kill_ring_t *ring, const char *text, size_t len);
/* Extends the newest piece at its start (before) or its end. */
void ik_kill_ring_join(ik_kill_ring_t *ring, const char *text, size_t len, bool before);

/* The piece to yank, or NULL if the ring is empty. */
const char *ik_kill_ring_current(const ik_kill_ring_t *ring, size_t *len);
/* Makes the next older piece current; the newest follows the oldest. */
void ik_kill_ring_rotate(ik_kill_ring_t *ring);

/* Access to all pieces; 0 is the newest. */
size_t ik_kill_ring_count(const ik_kill_ring_t *ring);
const char *ik_kill_ring_piece(const ik_kill_ring_t *ring, size_t index, size_t *len);
void ik_kill_ring_replace(ik_kill_ring_t *ring, size_t index, const char *text, size_t len);

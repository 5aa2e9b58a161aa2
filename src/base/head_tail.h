/*
 * Keeps the beginning and the end of a stream of bytes in bounded memory, and counts the bytes in
 * between. A stream within the limit is kept whole. The formatted text is valid UTF-8, never longer
 * than the limit, and cut only between characters.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

typedef struct {
    size_t limit;
    uint64_t total; /* bytes seen */
    ik_buffer_t head;
    char *ring; /* the last ring_size bytes after the head; NULL while the head has room */
    size_t ring_size;
    ik_buffer_t ring_space;
    uint64_t ring_total; /* bytes that went into the ring */
} ik_head_tail_t;

void ik_head_tail_init(ik_head_tail_t *kept, const void *ctx, size_t limit);
void ik_head_tail_add(ik_head_tail_t *kept, const char *bytes, size_t len);

/* Appends the kept bytes without a final newline, and a marker where bytes are missing. Returns
 * whether any are. To be called once, at the end. */
bool ik_head_tail_format(ik_head_tail_t *kept, ik_buffer_t *out);

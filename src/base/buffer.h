/*
 * A growing byte buffer with a maximum given at creation. Bytes beyond the maximum are dropped and
 * counted, so a caller that only forwards bytes needs no checks of its own. data is NULL until the
 * first append (even an empty one) and NUL-terminated from then on; the NUL is not part of len.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IK_BUFFER_UNLIMITED (SIZE_MAX / 4)

/* Holds memory from malloc, because talloc refuses allocations of 256 MB or more. */
typedef struct ik_buffer_block ik_buffer_block_t;

typedef struct {
    const void *ctx; /* owner of block */
    ik_buffer_block_t *block;
    char *data; /* owned by block, not a talloc pointer: see take and finish */
    size_t len;
    size_t capacity;
    size_t max;
    uint64_t dropped; /* bytes that did not fit */
} ik_buffer_t;

/* Fills the caller's memory; data is allocated on ctx by the first append. */
void ik_buffer_init(ik_buffer_t *buffer, const void *ctx, size_t max);
/* Frees the data; the buffer can be used again. */
void ik_buffer_reset(ik_buffer_t *buffer);

/* The bytes as an ordinary string on the buffer's context; the buffer is empty afterwards. */
char *ik_buffer_finish(ik_buffer_t *buffer);
/* The bytes without a copy: they live as long as ctx and cannot be freed alone. NULL when nothing
 * was ever appended. The buffer is empty afterwards. */
char *ik_buffer_take(const void *ctx, ik_buffer_t *buffer);

void ik_buffer_append(ik_buffer_t *buffer, const char *bytes, size_t len);
void ik_buffer_append_text(ik_buffer_t *buffer, const char *text);
void ik_buffer_append_byte(ik_buffer_t *buffer, char byte);
void ik_buffer_append_format(ik_buffer_t *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Makes room for want bytes at data + len and returns how much room there is (less than want near
 * the maximum, 0 when full). The caller writes there, adds to len and sets the NUL. */
size_t ik_buffer_reserve(ik_buffer_t *buffer, size_t want);

#include "base/buffer.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { FIRST_CAPACITY = 256 };

struct ik_buffer_block {
    char *bytes;
};

static int free_block(ik_buffer_block_t *block)
{
    free(block->bytes);
    return 0;
}

void ik_buffer_init(ik_buffer_t *buffer, const void *ctx, size_t max)
{
    *buffer = (ik_buffer_t){.ctx = ctx, .max = max};
}

void ik_buffer_reset(ik_buffer_t *buffer)
{
    talloc_free(buffer->block);
    ik_buffer_init(buffer, buffer->ctx, buffer->max);
}

char *ik_buffer_finish(ik_buffer_t *buffer)
{
    char *text = ik_strndup(buffer->ctx, buffer->data, buffer->len);
    ik_buffer_reset(buffer);
    return text;
}

char *ik_buffer_take(const void *ctx, ik_buffer_t *buffer)
{
    char *data = buffer->data;
    talloc_steal(ctx, buffer->block);
    ik_buffer_init(buffer, buffer->ctx, buffer->max);
    return data;
}

static void grow(ik_buffer_t *buffer, size_t needed)
{
    size_t capacity = buffer->capacity == 0 ? FIRST_CAPACITY : buffer->capacity;
    while (capacity < needed) {
        capacity *= 2;
    }
    if (capacity > buffer->max && needed <= buffer->max) {
        capacity = buffer->max;
    }
    if (buffer->block == NULL) {
        buffer->block = ik_new(buffer->ctx, ik_buffer_block_t);
        talloc_set_destructor(buffer->block, free_block);
    }
    char *bytes = realloc(buffer->block->bytes, capacity + 1);
    if (bytes == NULL) {
        ik_alloc_fail();
    }
    buffer->block->bytes = buffer->data = bytes;
    buffer->capacity = capacity;
    buffer->data[buffer->len] = '\0';
}

size_t ik_buffer_reserve(ik_buffer_t *buffer, size_t want)
{
    size_t room = buffer->max - buffer->len;
    size_t fits = want < room ? want : room;
    if (buffer->len + fits > buffer->capacity || buffer->data == NULL) {
        grow(buffer, buffer->len + fits);
    }
    return room < buffer->capacity - buffer->len ? room : buffer->capacity - buffer->len;
}

void ik_buffer_append(ik_buffer_t *buffer, const char *bytes, size_t len)
{
    size_t room = ik_buffer_reserve(buffer, len);
    size_t fits = len < room ? len : room;
    if (fits > 0) {
        memcpy(buffer->data + buffer->len, bytes, fits);
    }
    buffer->len += fits;
    buffer->data[buffer->len] = '\0';
    buffer->dropped += len - fits;
}

void ik_buffer_append_text(ik_buffer_t *buffer, const char *text)
{
    ik_buffer_append(buffer, text, strlen(text));
}

void ik_buffer_append_byte(ik_buffer_t *buffer, char byte)
{
    ik_buffer_append(buffer, &byte, 1);
}

void ik_buffer_append_format(ik_buffer_t *buffer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = ik_vsprintf(buffer->ctx, format, args);
    va_end(args);
    ik_buffer_append_text(buffer, text);
    talloc_free(text);
}

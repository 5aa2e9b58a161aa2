#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static void (*failure_handler)(void);

void ik_alloc_on_failure(void (*handler)(void))
{
    failure_handler = handler;
}

void ik_alloc_fail(void)
{
    if (failure_handler != NULL) {
        failure_handler();
    }
    PANIC("out of memory");
}

static void *check(void *memory)
{
    if (memory == NULL) {
        ik_alloc_fail();
    }
    return memory;
}

void *ik_alloc_plain(size_t size)
{
    return check(malloc(size == 0 ? 1 : size));
}

static size_t multiply(size_t size, size_t count)
{
    if (size != 0 && count > SIZE_MAX / 2 / size) {
        PANIC("allocation of %zu x %zu bytes overflows", count, size);
    }
    return size * count;
}

void *ik_alloc_named(const void *ctx, size_t size, const char *name)
{
    return check(_talloc_zero(ctx, size, name));
}

void *ik_alloc_array(const void *ctx, size_t size, size_t count, const char *name)
{
    return check(_talloc_zero(ctx, multiply(size, count), name));
}

void *ik_alloc_resize(const void *ctx, void *pointer, size_t size, size_t count, const char *name)
{
    /* A talloc_realloc to 0 bytes would free the memory. */
    size_t bytes = multiply(size, count);
    return check(_talloc_realloc(ctx, pointer, bytes == 0 ? 1 : bytes, name));
}

void *ik_alloc_take(void *object)
{
    return talloc_steal(NULL, object);
}

char *ik_strdup(const void *ctx, const char *text)
{
    return check(talloc_strdup(ctx, text));
}

char *ik_strndup(const void *ctx, const char *text, size_t len)
{
    char *copy = check(talloc_size(ctx, len + 1));
    if (len > 0) {
        memcpy(copy, text, len);
    }
    copy[len] = '\0';
    return copy;
}

char *ik_vsprintf(const void *ctx, const char *format, va_list args)
{
    return check(talloc_vasprintf(ctx, format, args));
}

char *ik_sprintf(const void *ctx, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = ik_vsprintf(ctx, format, args);
    va_end(args);
    return text;
}

/*
 * Allocation on talloc contexts. The first parameter owns the result; freeing the owner frees
 * everything below it. No function returns NULL: running out of memory ends the program, by the
 * handler the program has set or else by a panic.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <talloc.h>

#define ik_new(ctx, type) ((type *)ik_alloc_named((ctx), sizeof(type), #type))
#define ik_new_array(ctx, type, count) ((type *)ik_alloc_array((ctx), sizeof(type), (count), #type))
/* Grows or shrinks; new elements are not cleared. */
#define ik_resize_array(ctx, pointer, type, count)                                                 \
    ((type *)ik_alloc_resize((ctx), (pointer), sizeof(type), (count), #type))

/* Replaces the panic when memory runs out. The handler must neither allocate nor return; any thread
 * may call it. */
void ik_alloc_on_failure(void (*handler)(void));
/* Ends the program for lack of memory; for allocations that are made elsewhere. */
_Noreturn void ik_alloc_fail(void);
/* malloc() for libraries that let us choose the allocator; release with free(). */
void *ik_alloc_plain(size_t size);

/* Zeroed memory. */
void *ik_alloc_named(const void *ctx, size_t size, const char *name);
void *ik_alloc_array(const void *ctx, size_t size, size_t count, const char *name);
void *ik_alloc_resize(const void *ctx, void *pointer, size_t size, size_t count, const char *name);

/* Takes an object from its parent and returns it. An object that frees itself after its callback is
 * taken before, because the callback may free the parent. */
void *ik_alloc_take(void *object);

char *ik_strdup(const void *ctx, const char *text);
/* Copies exactly len bytes, NUL bytes included, and terminates them. */
char *ik_strndup(const void *ctx, const char *text, size_t len);
char *ik_sprintf(const void *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *ik_vsprintf(const void *ctx, const char *format, va_list args);

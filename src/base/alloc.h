/*
 * Allocation on talloc contexts. The first parameter owns the result; freeing it frees everything
 * below. Nothing here returns NULL: running out of memory ends the program, in this file, with a
 * panic or as the program's own handler does it.
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

/* Sets what ends the program when memory runs out, instead of a panic. The handler must neither
 * allocate nor return; any thread may call it. */
void ik_alloc_on_failure(void (*handler)(void));
/* Ends the program because memory could not be had. For allocations that are not made here. */
_Noreturn void ik_alloc_fail(void);
/* malloc() for libraries that take a function of their own; release with free(). */
void *ik_alloc_plain(size_t size);

/* Zeroed memory. */
void *ik_alloc_named(const void *ctx, size_t size, const char *name);
void *ik_alloc_array(const void *ctx, size_t size, size_t count, const char *name);
void *ik_alloc_resize(const void *ctx, void *pointer, size_t size, size_t count, const char *name);

char *ik_strdup(const void *ctx, const char *text);
/* Copies exactly len bytes, NUL bytes included, and terminates them. */
char *ik_strndup(const void *ctx, const char *text, size_t len);
char *ik_sprintf(const void *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *ik_vsprintf(const void *ctx, const char *format, va_list args);

/*
 * What each key does, for help and manual: made of the bindings that are in force, so that it
 * cannot say anything else.
 */
#pragma once

#include <stddef.h>

#include "terminal/binding.h"

typedef struct {
    const char *keys; /* "Ctrl-A, Home": all that do it */
    const char *does; /* half a line */
} ik_key_table_row_t;

typedef struct {
    const char *name;  /* one word: "prompt", "editing", "search", "pager" */
    const char *title; /* "At the prompt" */
    ik_key_table_row_t *rows;
    size_t count;
} ik_key_table_t;

/* All groups in the order of ik_binding_group_t, on ctx; *count of them. */
ik_key_table_t *ik_key_table_create(const void *ctx, size_t *count);
/* "Ctrl-A", "Alt-Enter", "PageUp", on ctx; the terminal's own answers are no keys. */
char *ik_key_format(const void *ctx, const ik_key_t *key);

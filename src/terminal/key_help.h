/* Help on keys, for /help, the pager and the manual, generated from the tables of bindings. */
#pragma once

#include <stddef.h>

#include "terminal/binding.h"

typedef struct {
    const char *keys; /* all keys of the command: "Ctrl-A, Home" */
    const char *does; /* half a line */
} ik_key_help_row_t;

typedef struct {
    const char *name;  /* one word: "prompt", "editing", "vi", "search", "pager" */
    const char *title; /* "At the prompt" */
    ik_key_help_row_t *rows;
    size_t count;
} ik_key_help_t;

/* All groups, on ctx, indexed by ik_binding_group_t; *count is their number. */
ik_key_help_t *ik_key_help_create(const void *ctx, size_t *count);

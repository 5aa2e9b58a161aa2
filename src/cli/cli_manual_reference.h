/*
 * The reference part of the manual: the program's own tables in one form. A topic has groups, a
 * group has rows, and each can be looked up by name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

typedef struct {
    const char *names;  /* for lookup, one per line: "providers.NAME.type\ntype" */
    const char *term;   /* plain text: "-m PROVIDER/MODEL" */
    const char *middle; /* cell of the middle column; NULL or "": empty */
    const char *text;   /* Markdown */
} ik_cli_manual_row_t;

typedef struct {
    const char *name;   /* "tool run", "keys pager"; NULL: the only group of its topic */
    const char *title;  /* "ikigai tool run" */
    const char *intro;  /* Markdown above the rows; NULL: none */
    const char *head;   /* heading of the first column */
    const char *middle; /* heading of the middle column; NULL: two columns */
    ik_cli_manual_row_t *rows;
    size_t count; /* may be 0 */
} ik_cli_manual_group_t;

typedef struct {
    const char *name;  /* "options" */
    const char *title; /* "Options" */
    const char *help;  /* half a line */
    const char *intro; /* Markdown; NULL: none */
    ik_cli_manual_group_t *groups;
    size_t count;
} ik_cli_manual_reference_t;

/* Creates all topics in the order of help, on ctx. */
ik_cli_manual_reference_t *ik_cli_manual_reference_create(const void *ctx, size_t *count);

/* Appends the intro and the table as Markdown. */
void ik_cli_manual_reference_append_group(ik_buffer_t *out, const ik_cli_manual_group_t *group);
/* Appends the whole topic, without its title. */
void ik_cli_manual_reference_append(ik_buffer_t *out, const ik_cli_manual_reference_t *topic);

/* Whether one of these names, one per line, is word; case is ignored. */
bool ik_cli_manual_reference_is_named(const char *names, const char *word);

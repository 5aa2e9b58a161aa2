/*
 * The reference part of the manual: the program's own tables, brought into one form. A topic has
 * groups, a group has rows, and each of them can be asked for by name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

typedef struct {
    const char *names;  /* what it is asked for by, one per line: "providers.NAME.type\ntype" */
    const char *term;   /* plain text: "-m PROVIDER/MODEL" */
    const char *middle; /* of the second of three columns; NULL or "": nothing */
    const char *text;   /* Markdown */
} ik_cli_manual_row_t;

typedef struct {
    const char *name;   /* "tool run", "keys pager"; NULL: the topic is this one group */
    const char *title;  /* "ikigai tool run" */
    const char *intro;  /* Markdown above the rows; NULL: none */
    const char *head;   /* of the first column */
    const char *middle; /* of the second of three; NULL: there are two */
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

/* All topics in the order of help, on ctx; *count of them. */
ik_cli_manual_reference_t *ik_cli_manual_reference_create(const void *ctx, size_t *count);

/* As Markdown: the intro and a table. */
void ik_cli_manual_reference_append_group(ik_buffer_t *out, const ik_cli_manual_group_t *group);
/* The whole topic below its heading. */
void ik_cli_manual_reference_append(ik_buffer_t *out, const ik_cli_manual_reference_t *topic);

/* Whether one of these names, one per line, is word; case does not count. */
bool ik_cli_manual_reference_is_named(const char *names, const char *word);

/* A Markdown text line by line, knowing what is code and what only looks like a heading there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *text;
    size_t len;   /* with its newline, if it has one */
    bool is_code; /* in a fence, or the fence itself */
} ik_cli_manual_line_t;

/* Begins as {.at = TEXT}; a copy goes on by itself. */
typedef struct {
    const char *at;
    char fence; /* the mark of the open one; '\0': none is open */
} ik_cli_manual_lines_t;

/* False at the end. */
bool ik_cli_manual_lines_next(ik_cli_manual_lines_t *lines, ik_cli_manual_line_t *line);

bool ik_cli_manual_lines_begins(const ik_cli_manual_line_t *line, const char *text);
/* `<!-- … -->` */
bool ik_cli_manual_lines_is_comment(const ik_cli_manual_line_t *line);
/* How many # a heading has; 0: it is none. */
size_t ik_cli_manual_lines_heading(const ik_cli_manual_line_t *line);

/* Reads Markdown line by line and distinguishes code blocks from headings and comments. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *text;
    size_t len;   /* with its newline, if it has one */
    bool is_code; /* in a fenced block, or its fence */
} ik_cli_manual_line_t;

/* Starts as {.at = TEXT}. A copy reads ahead independently. */
typedef struct {
    const char *at;
    char fence; /* of the open block, '`' or '~'; '\0': none is open */
} ik_cli_manual_lines_t;

/* Reads the next line; false at the end. */
bool ik_cli_manual_lines_next(ik_cli_manual_lines_t *lines, ik_cli_manual_line_t *line);

bool ik_cli_manual_lines_begins(const ik_cli_manual_line_t *line, const char *text);
/* `<!-- … -->` */
bool ik_cli_manual_lines_is_comment(const ik_cli_manual_line_t *line);
/* The number of # of a heading; 0 for other lines. */
size_t ik_cli_manual_lines_heading(const ik_cli_manual_line_t *line);

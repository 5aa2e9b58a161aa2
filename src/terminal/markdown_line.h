/* Classifies single lines of Markdown by the rules of CommonMark. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A position in a line, in bytes and in columns. Tab stops are every four columns. */
typedef struct {
    const char *text;
    size_t len;
    size_t at;
    size_t column;
    size_t spare; /* columns of the tab before at that have not been skipped */
} ik_markdown_cursor_t;

void ik_markdown_cursor_init(ik_markdown_cursor_t *cursor, const char *line, size_t len);
/* Columns of white space at the cursor. */
size_t ik_markdown_cursor_indent(const ik_markdown_cursor_t *cursor);
/* Skips at most this many columns of white space. */
void ik_markdown_cursor_skip(ik_markdown_cursor_t *cursor, size_t columns);
bool ik_markdown_cursor_is_blank(const ik_markdown_cursor_t *cursor);
/* Moves over bytes that are not white space. */
void ik_markdown_cursor_advance(ik_markdown_cursor_t *cursor, size_t bytes);

/* The functions below expect the text of a line without leading white space. */

/* The number of copies of c that the text begins with. */
size_t ik_markdown_line_count_same(const char *text, size_t len, char c);
/* The level of a heading, # to ######, or 0. */
int ik_markdown_line_heading(const char *text, size_t len);
/* Removes white space and the closing #s from the end of such a heading. */
void ik_markdown_line_trim_heading(const char *text, size_t *from, size_t *to);
/* The level of the heading that this line underlines, with = (1) or - (2), or 0. */
int ik_markdown_line_underline(const char *text, size_t len);
bool ik_markdown_line_is_rule(const char *text, size_t len);

typedef struct {
    char mark; /* ` or ~ */
    size_t length;
    const char *info; /* the first word after it, usually a language */
    size_t info_len;
} ik_markdown_fence_t;
bool ik_markdown_line_fence(const char *text, size_t len, ik_markdown_fence_t *fence);
bool ik_markdown_line_closes(const char *text, size_t len, const ik_markdown_fence_t *fence);

typedef struct {
    char mark;       /* - + *, or . ) after a number */
    unsigned number; /* of . and ) */
    size_t len;
} ik_markdown_marker_t;
/* The marker of a list item. */
bool ik_markdown_line_marker(const char *text, size_t len, ik_markdown_marker_t *marker);

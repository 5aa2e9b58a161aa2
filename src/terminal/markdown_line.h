/* What a line of Markdown is, looked at by itself, as CommonMark has it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A place in a line, in bytes and in columns: tabs go to the next multiple of four. */
typedef struct {
    const char *text;
    size_t len;
    size_t at;
    size_t column;
    size_t spare; /* columns of a tab before at that were not used up */
} ik_markdown_cursor_t;

void ik_markdown_cursor_init(ik_markdown_cursor_t *cursor, const char *line, size_t len);
/* Columns of white space ahead. */
size_t ik_markdown_cursor_indent(const ik_markdown_cursor_t *cursor);
/* At most so many columns of white space. */
void ik_markdown_cursor_skip(ik_markdown_cursor_t *cursor, size_t columns);
bool ik_markdown_cursor_is_blank(const ik_markdown_cursor_t *cursor);
/* Forward by bytes that are no white space. */
void ik_markdown_cursor_advance(ik_markdown_cursor_t *cursor, size_t bytes);

/* All of these look at a text without the white space before it. */

/* How many of this character it begins with. */
size_t ik_markdown_line_count_same(const char *text, size_t len, char c);
/* # to ######; 0: it is none. */
int ik_markdown_line_heading(const char *text, size_t len);
/* The words of such a heading. */
void ik_markdown_line_trim_heading(const char *text, size_t *from, size_t *to);
/* A line of = (1) or - (2) that makes a heading of what is above; 0: it is none. */
int ik_markdown_line_underline(const char *text, size_t len);
bool ik_markdown_line_is_rule(const char *text, size_t len);

typedef struct {
    char mark; /* ` or ~ */
    size_t length;
    const char *info; /* the first word behind it */
    size_t info_len;
} ik_markdown_fence_t;
bool ik_markdown_line_fence(const char *text, size_t len, ik_markdown_fence_t *fence);
bool ik_markdown_line_closes(const char *text, size_t len, const ik_markdown_fence_t *fence);

typedef struct {
    char mark;       /* - + * or, of numbers, . ) */
    unsigned number; /* of the latter */
    size_t len;
} ik_markdown_marker_t;
/* The mark of an item of a list. */
bool ik_markdown_line_marker(const char *text, size_t len, ik_markdown_marker_t *marker);

/* Breaks text into rows: between words, between characters of scripts without spaces, and inside a
 * word only if the word is wider than a row. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    size_t from; /* excludes surrounding spaces, as does to */
    size_t to;
    size_t width;
} ik_markdown_wrap_line_t;

typedef struct {
    const char *text;
    size_t at;
    size_t end;
    size_t width; /* of a row, at least 1 */
} ik_markdown_wrap_t;

/* text must be sanitised; '\n' ends a row. */
void ik_markdown_wrap_init(ik_markdown_wrap_t *wrap, const char *text, size_t from, size_t to,
                           size_t width);
/* Returns the next row; false: there is none. */
bool ik_markdown_wrap_next(ik_markdown_wrap_t *wrap, ik_markdown_wrap_line_t *line);
/* Counts the remaining rows and measures the widest one. */
size_t ik_markdown_wrap_count(ik_markdown_wrap_t wrap, size_t *widest);

/* Where the rows of a text end: between words, between characters of scripts without spaces, and
 * inside a word only when it is wider than a row. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    size_t from; /* without the spaces around it */
    size_t to;
    size_t width;
} ik_markdown_wrap_line_t;

typedef struct {
    const char *text;
    size_t at;
    size_t end;
    size_t width; /* of a row, at least 1 */
} ik_markdown_wrap_t;

/* text is clean; '\n' ends a row. */
void ik_markdown_wrap_init(ik_markdown_wrap_t *wrap, const char *text, size_t from, size_t to,
                           size_t width);
/* False: there are no more. */
bool ik_markdown_wrap_next(ik_markdown_wrap_t *wrap, ik_markdown_wrap_line_t *line);
/* How many there are from here on, and the width of the widest. */
size_t ik_markdown_wrap_count(ik_markdown_wrap_t wrap, size_t *widest);

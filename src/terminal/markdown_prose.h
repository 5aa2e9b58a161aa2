/*
 * The open paragraph or heading. When it has more rows than may be held back, its top rows are
 * emitted, and the rest continues as a paragraph. This is checked at ends of words and at offsets
 * that depend on the text alone, so that the result does not depend on how the text was chunked.
 */
#pragma once

#include "terminal/markdown_inline.h"
#include "terminal/markdown_margin.h"
#include "terminal/markdown_wrap.h"

typedef struct {
    ik_buffer_t source; /* in the form of markdown_inline.h */
    int level;          /* of a heading; 0 for a paragraph */
    size_t lines;
    bool is_cut;     /* its top rows have been emitted */
    size_t check_at; /* length of source at which to check its height */
} ik_markdown_prose_t;

/* Scratch memory for laying out one paragraph at a time. */
typedef struct {
    ik_markdown_rows_t *rows;
    ik_markdown_inline_t flat;
    ik_markdown_wrap_line_t *lines;
    size_t count;
    size_t capacity;
} ik_markdown_layout_t;

void ik_markdown_prose_begin(ik_markdown_prose_t *prose, int level,
                             const ik_markdown_layout_t *layout);
/* Starts the next line. */
void ik_markdown_prose_add_line(ik_markdown_prose_t *prose, const char *text, size_t len,
                                ik_markdown_margin_t *margin, ik_markdown_layout_t *layout);
/* Continues the last line. */
void ik_markdown_prose_add(ik_markdown_prose_t *prose, const char *text, size_t len,
                           ik_markdown_margin_t *margin, ik_markdown_layout_t *layout);
/* Emits all rows. */
void ik_markdown_prose_emit(ik_markdown_prose_t *prose, ik_markdown_margin_t *margin,
                            ik_markdown_layout_t *layout);

/*
 * The open paragraph or heading. When it has more rows than may wait, its top rows are given and
 * the rest goes on as a paragraph of its own. That is looked at at the ends of words, and at places
 * that depend on the text alone, so that it does not matter in which pieces the text came.
 */
#pragma once

#include "terminal/markdown_inline.h"
#include "terminal/markdown_margin.h"
#include "terminal/markdown_wrap.h"

typedef struct {
    ik_buffer_t source; /* as markdown_inline.h wants it */
    int level;          /* of a heading; 0: a paragraph */
    size_t lines;
    bool is_cut;     /* its beginning was given */
    size_t check_at; /* how long source must be to be worth a look */
} ik_markdown_prose_t;

/* What it is laid out in; used by one at a time. */
typedef struct {
    ik_markdown_rows_t *rows;
    ik_markdown_inline_t flat;
    ik_markdown_wrap_line_t *lines;
    size_t count;
    size_t room;
} ik_markdown_layout_t;

void ik_markdown_prose_begin(ik_markdown_prose_t *prose, int level,
                             const ik_markdown_layout_t *layout);
/* The next line begins. */
void ik_markdown_prose_add_line(ik_markdown_prose_t *prose, const char *text, size_t len,
                                ik_markdown_margin_t *margin, ik_markdown_layout_t *layout);
/* More of the last line. */
void ik_markdown_prose_add(ik_markdown_prose_t *prose, const char *text, size_t len,
                           ik_markdown_margin_t *margin, ik_markdown_layout_t *layout);
/* All rows. */
void ik_markdown_prose_give(ik_markdown_prose_t *prose, ik_markdown_margin_t *margin,
                            ik_markdown_layout_t *layout);

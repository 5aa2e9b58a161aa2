/*
 * What stands to the left of a block and above it: the marks of the lists and quotes it is in, and
 * an empty row when it does not belong closely to the block before. Plain memory: a copy goes on by
 * itself.
 */
#pragma once

#include "terminal/markdown_line.h"
#include "terminal/markdown_rows.h"

/* Deeper nesting is shown as text. */
enum { IK_MARKDOWN_MARGIN_DEPTH = 16 };

typedef struct {
    bool is_quote;  /* otherwise it is an item of a list */
    bool is_marked; /* the mark was given */
    bool is_empty;  /* nothing but its mark came */
    char mark;
    char task; /* of [x] or [ ]; 0: it is none */
    unsigned number;
    unsigned serial; /* the same for all items of a list */
    size_t indent;   /* columns before what belongs to the item */
} ik_markdown_container_t;

typedef struct {
    ik_markdown_container_t containers[IK_MARKDOWN_MARGIN_DEPTH];
    size_t depth;
    ik_markdown_container_t above[IK_MARKDOWN_MARGIN_DEPTH]; /* those of the block before */
    size_t above_depth;
    unsigned serials;
    bool has_above; /* there was a block before */
    bool has_gap;   /* and an empty line */
    bool is_begun;  /* the block gave a row */
} ik_markdown_margin_t;

/* There must be room for another. */
void ik_markdown_margin_push_quote(ik_markdown_margin_t *margin);
/* sibling is the last item of the list, or NULL: a new list. */
ik_markdown_container_t *ik_markdown_margin_push_item(ik_markdown_margin_t *margin,
                                                      const ik_markdown_marker_t *marker,
                                                      const ik_markdown_container_t *sibling);
/* Leaves all but so many. An item that stayed empty gives its mark. */
void ik_markdown_margin_leave(ik_markdown_margin_t *margin, size_t depth, ik_markdown_rows_t *rows);

/* Another block begins. */
void ik_markdown_margin_begin_block(ik_markdown_margin_t *margin);
/* What comes before the words of a row of prose, and of a row of code. */
void ik_markdown_margin_begin_row(ik_markdown_margin_t *margin, ik_markdown_rows_t *rows);
void ik_markdown_margin_begin_code(ik_markdown_margin_t *margin, ik_markdown_rows_t *rows);
/* Columns that are left for words, at least 1. */
size_t ik_markdown_margin_room(const ik_markdown_margin_t *margin, const ik_markdown_rows_t *rows);
/* How words look here. */
ik_style_t ik_markdown_margin_style(const ik_markdown_margin_t *margin, const ik_theme_t *theme);

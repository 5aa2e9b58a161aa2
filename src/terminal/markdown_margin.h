/*
 * The margin of a block: to its left the marks of its lists and quotes, above it an empty row
 * unless it belongs closely to the previous block. Plain data: a copy continues independently.
 */
#pragma once

#include "terminal/markdown_line.h"
#include "terminal/markdown_rows.h"

/* Markers of containers nested deeper are shown as text. */
enum { IK_MARKDOWN_MARGIN_DEPTH = 16 };

typedef struct {
    bool is_quote;  /* else a list item */
    bool is_marked; /* its mark has been emitted */
    bool is_empty;  /* it has no content yet */
    char mark;
    char task; /* 'x' or ' ' of a task, [x] or [ ]; else NUL */
    unsigned number;
    unsigned serial; /* shared by the items of a list */
    size_t indent;   /* by which the content of the item is indented */
} ik_markdown_container_t;

typedef struct {
    ik_markdown_container_t containers[IK_MARKDOWN_MARGIN_DEPTH];
    size_t depth;
    ik_markdown_container_t above[IK_MARKDOWN_MARGIN_DEPTH]; /* of the previous block */
    size_t above_depth;
    unsigned serials; /* the last one used */
    bool has_above;   /* there is a previous block */
    bool has_gap;     /* an empty line follows it */
    bool is_begun;    /* the current block has emitted a row */
} ik_markdown_margin_t;

/* depth must be below IK_MARKDOWN_MARGIN_DEPTH. */
void ik_markdown_margin_push_quote(ik_markdown_margin_t *margin);
/* sibling is the previous item of the list, or NULL for a new list. */
ik_markdown_container_t *ik_markdown_margin_push_item(ik_markdown_margin_t *margin,
                                                      const ik_markdown_marker_t *marker,
                                                      const ik_markdown_container_t *sibling);
/* Leaves all containers but the outer `depth`. Emits the mark of an item that stayed empty. */
void ik_markdown_margin_leave(ik_markdown_margin_t *margin, size_t depth, ik_markdown_rows_t *rows);

/* Starts another block. */
void ik_markdown_margin_begin_block(ik_markdown_margin_t *margin);
/* Start a row of prose or of code. A row of code has no margin: a pending mark gets its own row. */
void ik_markdown_margin_begin_row(ik_markdown_margin_t *margin, ik_markdown_rows_t *rows);
void ik_markdown_margin_begin_code(ik_markdown_margin_t *margin, ik_markdown_rows_t *rows);
/* The columns left for text, at least 1. */
size_t ik_markdown_margin_room(const ik_markdown_margin_t *margin, const ik_markdown_rows_t *rows);
/* The style of text. */
ik_style_t ik_markdown_margin_style(const ik_markdown_margin_t *margin, const ik_theme_t *theme);

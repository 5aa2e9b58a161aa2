/*
 * The blocks of a message, line by line, as CommonMark has them: quotes and lists, and in them
 * paragraphs, headings, code, tables and rules. A block is given as soon as it cannot change any
 * more; lines of code at once. Whatever depends on the whole of a line is decided when the line is
 * whole or as long as anyone wants to see; longer ones are words.
 *
 * Plain memory but for the source of the open paragraph and what is shared: with another buffer for
 * the former a copy shows what would be if nothing more came.
 */
#pragma once

#include "terminal/code_rows.h"
#include "terminal/markdown_prose.h"
#include "terminal/markdown_table.h"

typedef enum {
    IK_MARKDOWN_NOTHING,
    IK_MARKDOWN_PROSE,
    IK_MARKDOWN_TABLE,
    IK_MARKDOWN_FENCE,
    IK_MARKDOWN_INDENTED, /* code */
} ik_markdown_leaf_t;

typedef struct {
    ik_markdown_margin_t margin;
    ik_markdown_leaf_t leaf; /* the open block */
    ik_markdown_prose_t prose;
    ik_markdown_fence_t fence; /* without its info */
    size_t fence_indent;
    bool is_diff;
    ik_code_rows_t code;
    size_t blanks;     /* empty lines behind indented code, which may end here */
    bool is_line_open; /* the last line was taken in part, and is prose or code */
    ik_markdown_layout_t *layout;
    ik_markdown_table_t *table;
} ik_markdown_blocks_t;

void ik_markdown_blocks_init(ik_markdown_blocks_t *blocks, const void *ctx,
                             ik_markdown_layout_t *layout, ik_markdown_table_t *table);

/* How long the line at hand must be before it is taken without its end. More than len: wait. */
size_t ik_markdown_blocks_want(const ik_markdown_blocks_t *blocks, const char *line, size_t len);
/* A line, or the beginning of one that is as long as wanted. Clean text. */
void ik_markdown_blocks_take(ik_markdown_blocks_t *blocks, const char *line, size_t len,
                             bool is_whole);
/* Whether more of that line is to be handed on as it comes, and its end. */
bool ik_markdown_blocks_goes_on(const ik_markdown_blocks_t *blocks);
void ik_markdown_blocks_go_on(ik_markdown_blocks_t *blocks, const char *text, size_t len);
void ik_markdown_blocks_end_line(ik_markdown_blocks_t *blocks);
/* The message is over: everything is given. */
void ik_markdown_blocks_end(ik_markdown_blocks_t *blocks);
/* Whether lines are code just now. */
bool ik_markdown_blocks_is_code(const ik_markdown_blocks_t *blocks);

/*
 * The block structure of a message, line by line, by the rules of CommonMark: quotes and lists, and
 * in them paragraphs, headings, code, tables and rules. A block is emitted as soon as it cannot
 * change any more, code line by line. What depends on a whole line is decided when the line is
 * complete or longer than any line that is not plain text.
 *
 * Plain data except for the source of the open paragraph, the layout and the table: a copy with its
 * own source buffer, and the table saved, shows the rows that would follow if the message ended
 * here.
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
    IK_MARKDOWN_INDENTED, /* indented code */
} ik_markdown_leaf_t;

typedef struct {
    ik_markdown_margin_t margin;
    ik_markdown_leaf_t leaf; /* the open block */
    ik_markdown_prose_t prose;
    ik_markdown_fence_t fence; /* without its info */
    size_t fence_indent;
    bool is_diff;
    ik_patch_place_t diff; /* after the last line of it */
    ik_code_rows_t code;
    size_t blanks;     /* empty lines that belong to the indented code if it continues */
    bool is_line_open; /* only the start of the last line has been taken */
    ik_markdown_layout_t *layout;
    ik_markdown_table_t *table;
} ik_markdown_blocks_t;

void ik_markdown_blocks_init(ik_markdown_blocks_t *blocks, const void *ctx,
                             ik_markdown_layout_t *layout, ik_markdown_table_t *table);

/* The length at which an incomplete line can be taken; if it is more than len, wait for more. */
size_t ik_markdown_blocks_want(const ik_markdown_blocks_t *blocks, const char *line, size_t len);
/* Takes a whole line, or the start of one as long as wanted. The text is sanitised. */
void ik_markdown_blocks_take(ik_markdown_blocks_t *blocks, const char *line, size_t len,
                             bool is_whole);
/* Whether the rest of the line is to be passed to go_on as it arrives, and its end to end_line. */
bool ik_markdown_blocks_goes_on(const ik_markdown_blocks_t *blocks);
void ik_markdown_blocks_go_on(ik_markdown_blocks_t *blocks, const char *text, size_t len);
void ik_markdown_blocks_end_line(ik_markdown_blocks_t *blocks);
/* Ends the message: emits everything. */
void ik_markdown_blocks_end(ik_markdown_blocks_t *blocks);
/* Whether the open block is code. */
bool ik_markdown_blocks_is_code(const ik_markdown_blocks_t *blocks);

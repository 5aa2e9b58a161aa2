/*
 * The inside of a paragraph, a heading or a cell: emphasis, code, links and so on (md4c) as one
 * flat text and the runs of it that look alike. Only the lines in it know where they come from in
 * the source, so that a long paragraph can be cut there.
 */
#pragma once

#include "base/buffer.h"
#include "terminal/row.h"

/* What stands before a source, so that md4c takes whatever follows for the words of a paragraph;
 * and between its lines: more is indented, less could begin something. It is not shown. */
#define IK_MARKDOWN_INLINE_LEAD "x "
#define IK_MARKDOWN_INLINE_JOIN "\n    "

#define IK_MARKDOWN_INLINE_NOWHERE UINT32_MAX

/* Ends where the next begins. */
typedef struct {
    size_t start;
    ik_style_t style;
    uint32_t link;   /* where its address is in links, plus one; 0: it leads nowhere */
    uint32_t source; /* where its first byte is in the source; NOWHERE: it is not from there */
    uint32_t depth;  /* how many spans are open */
} ik_markdown_run_t;

typedef struct {
    const ik_theme_t *theme;
    ik_buffer_t text;  /* clean; '\n' where a row must end */
    ik_buffer_t links; /* addresses, each with its NUL */
    ik_markdown_run_t *runs;
    size_t count;
    size_t room;
} ik_markdown_inline_t;

void ik_markdown_inline_init(ik_markdown_inline_t *flat, const void *ctx, const ik_theme_t *theme);
/* Empty again, memory kept. */
void ik_markdown_inline_clear(ik_markdown_inline_t *flat);

/* A place to come back to. */
typedef struct {
    size_t text;
    size_t links;
    size_t count;
} ik_markdown_inline_mark_t;
ik_markdown_inline_mark_t ik_markdown_inline_mark(const ik_markdown_inline_t *flat);
void ik_markdown_inline_rewind(ik_markdown_inline_t *flat, ik_markdown_inline_mark_t mark);

/* Appends what source says; it is sanitised and begins with the LEAD. */
void ik_markdown_inline_parse(ik_markdown_inline_t *flat, const char *source, size_t len,
                              ik_style_t style);

/* The run that a place of the text is in. run is that of an earlier place, or 0. */
size_t ik_markdown_inline_run_at(const ik_markdown_inline_t *flat, size_t run, size_t at);
/* Appends a part of the text to a row; it has no '\n'. */
void ik_markdown_inline_draw(const ik_markdown_inline_t *flat, size_t run, size_t from, size_t to,
                             ik_row_t *row);

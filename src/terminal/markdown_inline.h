/*
 * The inline content of a paragraph, heading or table cell (emphasis, code, links; parsed by md4c)
 * as one flat text divided into runs of one style. Each run knows its offset in the source, so that
 * a long paragraph can be cut there.
 */
#pragma once

#include "base/buffer.h"
#include "terminal/row.h"

/* A source starts with the LEAD, so that md4c takes everything after it as text of a paragraph, and
 * has the JOIN between lines: with that indentation a line cannot start another block. Neither is
 * shown. */
#define IK_MARKDOWN_INLINE_LEAD "x "
#define IK_MARKDOWN_INLINE_JOIN "\n    "

#define IK_MARKDOWN_INLINE_NOWHERE UINT32_MAX

/* A run ends where the next one starts. */
typedef struct {
    size_t start;
    ik_style_t style;
    uint32_t link;   /* offset of its address in links, plus one; 0: no link */
    uint32_t source; /* offset of its first byte in the source, or NOWHERE */
    uint32_t depth;  /* number of open spans */
} ik_markdown_run_t;

typedef struct {
    const ik_theme_t *theme;
    ik_buffer_t text;  /* sanitised; '\n' where a row must end */
    ik_buffer_t links; /* NUL-terminated addresses */
    ik_markdown_run_t *runs;
    size_t count;
    size_t capacity;
} ik_markdown_inline_t;

void ik_markdown_inline_init(ik_markdown_inline_t *flat, const void *ctx, const ik_theme_t *theme);
/* Empties it and keeps the memory. */
void ik_markdown_inline_clear(ik_markdown_inline_t *flat);

/* A state to return to: rewind removes what was appended since. */
typedef struct {
    size_t text;
    size_t links;
    size_t count;
} ik_markdown_inline_mark_t;
ik_markdown_inline_mark_t ik_markdown_inline_mark(const ik_markdown_inline_t *flat);
void ik_markdown_inline_rewind(ik_markdown_inline_t *flat, ik_markdown_inline_mark_t mark);

/* Parses and appends a sanitised source, which starts with the LEAD. */
void ik_markdown_inline_parse(ik_markdown_inline_t *flat, const char *source, size_t len,
                              ik_style_t style);

/* The run that contains an offset of the text. run is that of an earlier offset, or 0. */
size_t ik_markdown_inline_run_at(const ik_markdown_inline_t *flat, size_t run, size_t at);
/* Appends the text [from, to), without '\n' in it, to a row. */
void ik_markdown_inline_draw(const ik_markdown_inline_t *flat, size_t run, size_t from, size_t to,
                             ik_row_t *row);

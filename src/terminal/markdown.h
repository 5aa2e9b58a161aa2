/*
 * Markdown as it streams in, to rows. What is finished becomes rows at once and is never looked at
 * again; only the open block at the end is parsed anew (md4c), so that a token costs the same at
 * any length of the message. Any chunking of the same text gives the same finished rows at the same
 * width and height.
 *
 * Prose is word-wrapped to the width; code is neither wrapped nor indented nor decorated: copying
 * gives back the exact text. Fences give their lines one by one. A table is held back until it is
 * complete or too tall. A block taller than the live area gives its top rows.
 */
#pragma once

#include "terminal/row.h"

typedef struct ik_markdown ik_markdown_t;

typedef void (*ik_markdown_row_fn)(void *data, const char *bytes, size_t len);

typedef struct {
    const ik_theme_t *theme;   /* borrowed */
    int columns;               /* prose is wrapped to columns - 1 */
    int max_open;              /* rows the open block may have; at least 1 */
    ik_markdown_row_fn on_row; /* a finished row; empty ones separate blocks */
    void *data;
} ik_markdown_options_t;

ik_markdown_t *ik_markdown_create(const void *ctx, const ik_markdown_options_t *options);
/* Foreign text, sanitised here. */
void ik_markdown_feed(ik_markdown_t *markdown, const char *text, size_t len);
/* The message is over: all that is open becomes rows. Ready for another message. */
void ik_markdown_end(ik_markdown_t *markdown);
/* From here on. */
void ik_markdown_resize(ik_markdown_t *markdown, int columns, int max_open);

/* The rows of the open block as they would be if nothing more came: at most max_open, each at most
 * columns - 1 wide, the last ones when there are more. A line that so far is nothing but marks,
 * which could become anything, is left out. */
void ik_markdown_draw_open(ik_markdown_t *markdown, ik_markdown_row_fn on_row, void *data);

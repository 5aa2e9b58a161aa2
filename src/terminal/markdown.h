/*
 * Renders streamed Markdown as rows. Finished blocks become rows at once and are not parsed again;
 * only the open block at the end is reparsed (md4c), so that the cost of a token does not depend on
 * the length of the message. The finished rows do not depend on how the text is split into chunks.
 *
 * Prose is wrapped at words. Code is neither wrapped, indented nor decorated, so that a copy is the
 * exact text. A fenced block is output line by line, a table when it is complete or too tall. A
 * block that is taller than the live area outputs its top rows.
 */
#pragma once

#include "terminal/row.h"

typedef struct ik_markdown ik_markdown_t;

typedef void (*ik_markdown_row_fn)(void *data, const char *bytes, size_t len);

typedef struct {
    const ik_theme_t *theme;   /* borrowed */
    int columns;               /* prose is wrapped to columns - 1 */
    int max_open;              /* rows the open block may have; at least 1 */
    ik_markdown_row_fn on_row; /* gets finished rows; empty rows separate blocks */
    void *data;
} ik_markdown_options_t;

ik_markdown_t *ik_markdown_create(const void *ctx, const ik_markdown_options_t *options);
/* Adds text, which is sanitised here. */
void ik_markdown_feed(ik_markdown_t *markdown, const char *text, size_t len);
/* Ends the message: outputs the open block. The next feed starts another message. */
void ik_markdown_end(ik_markdown_t *markdown);
/* Sets the size for the rows that follow. */
void ik_markdown_resize(ik_markdown_t *markdown, int columns, int max_open);

/* Draws the open block as if the message ended here: at most max_open rows, the last ones if there
 * are more, each at most columns - 1 wide. Leaves out a last line that consists only of markup
 * characters, because it may still become anything. */
void ik_markdown_draw_open(ik_markdown_t *markdown, ik_markdown_row_fn on_row, void *data);

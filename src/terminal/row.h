/*
 * A row of the screen: sanitised UTF-8 with SGR and OSC 8 sequences of ikigai. It begins and ends
 * in the default style, so that rows can be printed in any order. It contains only printable
 * characters, tabs and these sequences: added text is sanitised as one line.
 */
#pragma once

#include "base/buffer.h"
#include "terminal/theme.h"

typedef struct {
    const ik_theme_t *theme;
    ik_buffer_t bytes; /* the current style is reset by ik_row_end */
    int width;         /* in columns; a tab goes to the next multiple of 8 */
    ik_style_t style;  /* at the end of bytes */
} ik_row_t;

void ik_row_init(ik_row_t *row, const void *ctx, const ik_theme_t *theme);
/* Empties the row, but keeps its memory. */
void ik_row_clear(ik_row_t *row);

void ik_row_add(ik_row_t *row, ik_style_t style, const char *text, size_t len);
void ik_row_add_role(ik_row_t *row, ik_role_t role, const char *text);
void ik_row_add_format(ik_row_t *row, ik_role_t role, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a hyperlink (OSC 8). url is not trusted: without a known scheme the text is added alone. */
void ik_row_add_link(ik_row_t *row, ik_style_t style, const char *text, size_t len,
                     const char *url);
/* Resets the style. */
void ik_row_end(ik_row_t *row);

/* Appends a finished row to out, cut to this many columns with a final …, and with tabs expanded,
 * as the live area needs it. Returns the width. */
int ik_row_fit(ik_buffer_t *out, const char *bytes, size_t len, int columns);
/* The width of a finished row. */
int ik_row_width(const char *bytes, size_t len);

/* The next part of a finished row: a sequence (0 columns) or a grapheme. len is at least 1. */
typedef struct {
    size_t len;
    int columns; /* of a tab: from column `at` on */
    bool is_sequence;
} ik_row_part_t;
ik_row_part_t ik_row_next(const char *bytes, size_t len, int at);

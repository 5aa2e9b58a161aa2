/*
 * A row of the screen: clean UTF-8 with our own SGR and OSC 8 sequences between. It begins and ends
 * in the terminal's own style, so rows can be printed in any order. Whatever text is added, nothing
 * but printable characters, tabs and our own sequences come out: what is not sanitised yet is
 * sanitised here (as one line).
 */
#pragma once

#include "base/buffer.h"
#include "terminal/theme.h"

typedef struct {
    const ik_theme_t *theme;
    ik_buffer_t bytes; /* the sequence of the current style is not closed until ik_row_end */
    int width;         /* columns; a tab goes to the next multiple of 8 */
    ik_style_t style;  /* in force at the end of bytes */
} ik_row_t;

void ik_row_init(ik_row_t *row, const void *ctx, const ik_theme_t *theme);
/* Empty again, memory kept. */
void ik_row_clear(ik_row_t *row);

void ik_row_add(ik_row_t *row, ik_style_t style, const char *text, size_t len);
void ik_row_add_role(ik_row_t *row, ik_role_t role, const char *text);
/* Our own words in a role. */
void ik_row_add_format(ik_row_t *row, ik_role_t role, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A text that leads somewhere (OSC 8); url is foreign and dropped where it cannot be one. */
void ik_row_add_link(ik_row_t *row, ik_style_t style, const char *text, size_t len,
                     const char *url);
/* Back to the terminal's own style. */
void ik_row_end(ik_row_t *row);

/* A finished row cut to so many columns, with … at its end when something is missing, and tabs as
 * spaces: as the live area needs it. Appends to out (usually empty); returns its width. */
int ik_row_fit(ik_buffer_t *out, const char *bytes, size_t len, int columns);
/* The width of a finished row. */
int ik_row_width(const char *bytes, size_t len);

/* Parts of a finished row, for whoever compares or cuts: a sequence (columns 0, is_sequence) or a
 * grapheme. len is at least 1. */
typedef struct {
    size_t len;
    int columns; /* of a tab: as of column `at` */
    bool is_sequence;
} ik_row_part_t;
ik_row_part_t ik_row_next(const char *bytes, size_t len, int at);

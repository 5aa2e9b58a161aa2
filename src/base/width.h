/*
 * Text in terminal columns, by graphemes: a letter with its combining marks, or an emoji of several
 * characters, is one grapheme. Expects sanitised text (sanitiser.h); a character that should not be
 * there counts as one column.
 */
#pragma once

#include <stddef.h>

#include "base/buffer.h"

#define IK_WIDTH_UNLIMITED SIZE_MAX

typedef struct {
    size_t len;
    int columns; /* 0, 1 or 2 */
} ik_grapheme_t;

/* The grapheme that text begins with; len is at least 1. Fast for ASCII. */
ik_grapheme_t ik_width_grapheme(const char *text, size_t len);
/* The columns of a text; a tab counts as one. Fast for ASCII. */
size_t ik_width(const char *text, size_t len);
/* Returns how many bytes of text fit into max columns, and the columns they take, unless NULL. */
size_t ik_width_fit(const char *text, size_t len, size_t max, size_t *columns);
/* The start of the last grapheme of text; len is at least 1. */
size_t ik_width_step_back(const char *text, size_t len);

/* Which end of a text to keep when it is cut. */
typedef enum { IK_WIDTH_KEEP_START, IK_WIDTH_KEEP_END } ik_width_keep_t;

/* Sanitises a text as one line and appends at most max columns of it, with … for what is cut.
 * Returns the columns. */
size_t ik_width_append(ik_buffer_t *out, const char *text, size_t max, ik_width_keep_t keep);

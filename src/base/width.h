/*
 * Text in columns of a terminal, by graphemes: a letter with its marks or an emoji of several
 * characters is one. Expects sanitised text (sanitiser.h); what is not is measured as one column
 * per character.
 */
#pragma once

#include <stddef.h>

#include "base/buffer.h"

#define IK_WIDTH_UNLIMITED SIZE_MAX

/* What is shown as one. */
typedef struct {
    size_t len;
    int columns; /* 0, 1 or 2 */
} ik_grapheme_t;

/* The grapheme at text; len is at least 1. Fast for ASCII. */
ik_grapheme_t ik_width_grapheme(const char *text, size_t len);
/* How many columns text takes; a tab counts as one column. Fast for ASCII. */
size_t ik_width(const char *text, size_t len);
/* How many bytes of text fit into max columns, and how many they take; columns may be NULL. */
size_t ik_width_fit(const char *text, size_t len, size_t max, size_t *columns);
/* Where the grapheme before the end of text begins; len is at least 1. */
size_t ik_width_step_back(const char *text, size_t len);

/* Which end of a text stays when there is no room for all of it. */
typedef enum { IK_WIDTH_KEEP_START, IK_WIDTH_KEEP_END } ik_width_keep_t;

/* Appends at most max columns of a foreign text, sanitised as one line, with … in the place of
 * what is left out, and returns how many columns they are. */
size_t ik_width_append(ik_buffer_t *out, const char *text, size_t max, ik_width_keep_t keep);

/*
 * One part of what a pager shows: its rows as they were rendered, and the lines of the screen they
 * take. A row that is too wide takes several; each line knows what is in force where it begins, so
 * that it can be drawn by itself.
 *
 * The plain text of a part is what a search looks at: the same bytes without sequences. Places in
 * it are counted from the beginning of the part.
 */
#pragma once

#include "terminal/pager.h"
#include "terminal/pen.h"

typedef struct {
    size_t at; /* in the bytes of the part */
    size_t len;
    size_t plain; /* the same place in the plain text */
    ik_pen_t pen;
} ik_pager_line_t;

typedef struct {
    ik_buffer_t bytes; /* rows, each with a newline behind it */
    ik_pager_line_t *lines;
    size_t count;
} ik_pager_part_t;

/* Renders it; there are no lines yet. */
ik_pager_part_t *ik_pager_part_create(const void *ctx, const ik_pager_source_t *source,
                                      size_t number, int columns);
/* Breaks rows into lines. */
void ik_pager_part_wrap(ik_pager_part_t *part, int columns);
/* The memory it takes. */
size_t ik_pager_part_size(const ik_pager_part_t *part);
/* The line in which a place of the plain text stands; the part has lines. */
size_t ik_pager_part_line_of(const ik_pager_part_t *part, size_t plain);

/* The plain text of some bytes of a part, a row or a pattern; folded: in lower case, where that
 * takes as many bytes, so that places are the same. */
void ik_pager_part_append_plain(ik_buffer_t *out, const char *bytes, size_t len, bool folded);

/* Which stretch of the plain text is drawn in another style. */
typedef struct {
    size_t begin;
    size_t end;
    ik_style_t style;
} ik_pager_mark_t;

/* Draws one line of at most so many columns. Marks are in order and do not overlap. */
void ik_pager_part_draw(const ik_pager_part_t *part, size_t line, int columns,
                        const ik_pager_mark_t *marks, size_t mark_count, ik_buffer_t *out);

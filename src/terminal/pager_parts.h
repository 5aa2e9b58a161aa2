/*
 * The text of a pager: a list of parts, each rendered into rows when it is needed. Only the parts
 * used last are kept in memory. A row that is wider than the screen is wrapped into several lines;
 * each line knows the pen at its start, so that it can be drawn alone.
 *
 * Searches work on the plain text of a part: its bytes without escape sequences. Offsets in it
 * count from the start of the part.
 */
#pragma once

#include "terminal/pager.h"
#include "terminal/pen.h"

/* --- one part ------------------------------------------------------------------------------ */

typedef struct {
    size_t at; /* in the bytes of the part */
    size_t len;
    size_t plain; /* offset of its start in the plain text */
    ik_pen_t pen;
} ik_pager_line_t;

typedef struct {
    ik_buffer_t bytes; /* rows, each followed by a newline */
    ik_pager_line_t *lines;
    size_t count;
} ik_pager_part_t;

/* The line that contains an offset of the plain text. The part must have lines. */
size_t ik_pager_part_line_of(const ik_pager_part_t *part, size_t plain);

/* Appends the plain text of bytes of a part, or of a pattern. folded: in lower case, except for
 * characters whose lower case has another length, so that offsets stay the same. */
void ik_pager_part_append_plain(ik_buffer_t *out, const char *bytes, size_t len, bool folded);

/* A range of the plain text that is drawn in another style. */
typedef struct {
    size_t begin;
    size_t end;
    ik_style_t style;
} ik_pager_mark_t;

/* Draws one line, cut to columns. Marks are sorted and do not overlap. */
void ik_pager_part_draw(const ik_pager_part_t *part, size_t line, int columns,
                        const ik_pager_mark_t *marks, size_t mark_count, ik_buffer_t *out);

/* --- all parts ----------------------------------------------------------------------------- */

typedef struct ik_pager_parts ik_pager_parts_t;

typedef struct {
    size_t part;
    size_t line; /* of the part */
} ik_pager_position_t;

/* Limits of what is kept; the part used last is kept whatever its size. */
enum { IK_PAGER_PARTS_MAX = 256, IK_PAGER_BYTES_MAX = 8 * 1024 * 1024 };

ik_pager_parts_t *ik_pager_parts_create(const void *ctx, const ik_pager_source_t *source,
                                        int columns);
/* Changes the width and drops all rendered parts. */
void ik_pager_parts_resize(ik_pager_parts_t *parts, int columns);
size_t ik_pager_parts_count(const ik_pager_parts_t *parts);

/* Renders the part if necessary. Valid until the next call. */
const ik_pager_part_t *ik_pager_parts_get(ik_pager_parts_t *parts, size_t number);
/* Appends the plain text of a part without adding the part to those in memory. */
void ik_pager_parts_append_plain(ik_pager_parts_t *parts, size_t number, bool folded,
                                 ik_buffer_t *out);

/* Moves by up to the given number of lines, backward if negative. Returns how many it moved. */
size_t ik_pager_parts_move(ik_pager_parts_t *parts, ik_pager_position_t *position, ptrdiff_t lines);
/* The first or last line. Return false if there are no lines. */
bool ik_pager_parts_first(ik_pager_parts_t *parts, ik_pager_position_t *position);
bool ik_pager_parts_last(ik_pager_parts_t *parts, ik_pager_position_t *position);

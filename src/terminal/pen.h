/*
 * The pen: the style (SGR) and link (OSC 8) in effect at a position of a row, and the shortest
 * sequences that lead from one pen to another.
 */
#pragma once

#include "base/buffer.h"
#include "base/style.h"

#define IK_PEN_LINK_START "\033]8;;"
#define IK_PEN_LINK_END "\033]8;;\033\\"

/* All zero is the terminal's default style without a link. */
typedef struct {
    ik_style_t style;
    const char *link; /* the OSC 8 sequence that started the link, in the row's bytes; or NULL */
    size_t link_len;
} ik_pen_t;

bool ik_pen_equal(const ik_pen_t *a, const ik_pen_t *b);
/* Applies one complete escape sequence. */
void ik_pen_follow(ik_pen_t *pen, const char *sequence, size_t len);

/* Append the sequences that lead from one to the other; nothing if they are equal. */
void ik_pen_append(ik_buffer_t *out, const ik_pen_t *from, const ik_pen_t *to);
void ik_pen_append_style(ik_buffer_t *out, ik_style_t from, ik_style_t to);

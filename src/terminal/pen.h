/*
 * SGR and OSC 8 as this program writes them, and what is in force at a place of a row: the shortest
 * way from one style to another, and to the same style again elsewhere.
 */
#pragma once

#include "base/buffer.h"
#include "base/style.h"

#define IK_PEN_LINK_START "\033]8;;"
#define IK_PEN_LINK_END "\033]8;;\033\\"

/* What is in force at a place of a row. All zero: nothing but the terminal's own style. */
typedef struct {
    ik_style_t style;
    const char *link; /* the OSC 8 sequence that began a link, in the row's bytes; or NULL */
    size_t link_len;
} ik_pen_t;

/* Whether both look the same and lead to the same place. */
bool ik_pen_equal(const ik_pen_t *a, const ik_pen_t *b);
/* What is in force after one whole sequence of a row. */
void ik_pen_follow(ik_pen_t *pen, const char *sequence, size_t len);

/* What leads from one to the other; nothing when they are equal. */
void ik_pen_append(ik_buffer_t *out, const ik_pen_t *from, const ik_pen_t *to);
void ik_pen_append_style(ik_buffer_t *out, ik_style_t from, ik_style_t to);

/*
 * Invisible characters: bidi controls, zero-width characters, fillers, tags, line and paragraph
 * separators, joiners and variation selectors. They change how other characters are displayed, or
 * carry text that a reader does not see. Joiners and variation selectors are legitimate in some
 * scripts and in emoji, and stray elsewhere.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

bool ik_invisible(int32_t code);

typedef enum {
    IK_INVISIBLE_STRAY,
    IK_INVISIBLE_FITS,
    IK_INVISIBLE_DEPENDS, /* on the next character: ask ik_invisible_fits_before */
} ik_invisible_fit_t;

/* Stands for an unknown neighbour: any invisible character fits it. */
enum { IK_INVISIBLE_ANY = -1 };

/* Whether an invisible character fits after the character shown before it (0: none). */
ik_invisible_fit_t ik_invisible_after(int32_t previous, int32_t code);
bool ik_invisible_fits_before(int32_t code, int32_t next);

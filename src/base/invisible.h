/*
 * Characters that show nothing by themselves and change what is seen of others, or what is read
 * where nothing is seen: directions, zero-width characters, fillers, tags, separators, joiners,
 * variation selectors. The last two belong to some scripts and to emoji; elsewhere they are stray.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

bool ik_invisible(int32_t code);

typedef enum {
    IK_INVISIBLE_STRAY,
    IK_INVISIBLE_FITS,
    IK_INVISIBLE_DEPENDS, /* on what follows: ik_invisible_fits_before tells */
} ik_invisible_place_t;

/* Nobody knows which: whatever fits best. */
enum { IK_INVISIBLE_ANY = -1 };

/* Where an invisible character stands, by what is shown before it; 0: nothing. */
ik_invisible_place_t ik_invisible_behind(int32_t previous, int32_t code);
bool ik_invisible_fits_before(int32_t code, int32_t next);

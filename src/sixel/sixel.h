/*
 * A picture as Sixel data, without the sequence around it: a palette, then bands of six rows, each
 * of which has the pixels of one colour after the other. Transparent pixels are left out.
 */
#pragma once

#include "base/buffer.h"
#include "sixel/png.h"

enum { IK_SIXEL_COLOURS_MAX = 256 };

/* Shows the picture in so many pixels, with at most so many colours (2 to IK_SIXEL_COLOURS_MAX).
 * Neither side may be larger than the picture's. */
void ik_sixel_append(ik_buffer_t *out, const ik_png_t *picture, uint32_t width, uint32_t height,
                     size_t colours);

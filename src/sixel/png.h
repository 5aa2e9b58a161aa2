/* Decodes PNG files of every kind that the format has: bit depths, palettes, transparency,
 * interlacing. Colour profiles, text and further frames are ignored. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IK_PNG_SIDE_MAX = 4096 };

typedef struct {
    uint32_t width; /* 1 to IK_PNG_SIDE_MAX, as height */
    uint32_t height;
    uint8_t *rgba; /* on ctx; four bytes per pixel, row by row */
} ik_png_t;

/* False if the file is damaged, incomplete or too large. */
bool ik_png_decode(const void *ctx, const uint8_t *bytes, size_t len, ik_png_t *out);

/*
 * Whether a colour can be read on a background, by the contrast of WCAG 2, and which of a
 * terminal's 256 colours is nearest to it. Colours are 0xRRGGBB.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* From 1 to 21. */
double ik_contrast_ratio(uint32_t a, uint32_t b);
/* Whether black can be read better than white on it. */
bool ik_contrast_is_light(uint32_t background);
/* The colour itself if its ratio to the background is at least 3, else the closest of the same hue
 * that is lighter or darker. */
uint32_t ik_contrast_repair(uint32_t colour, uint32_t background);
/* The index of the nearest of the colours 16 to 255, which are the same on all terminals; with a
 * background the nearest whose ratio to it is at least 3. */
uint8_t ik_contrast_find_index(uint32_t colour, const uint32_t *background);

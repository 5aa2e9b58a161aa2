/* The style of a text, attributes and two colours, independent of escape sequences. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    IK_STYLE_BOLD = 1 << 0,
    IK_STYLE_DIM = 1 << 1,
    IK_STYLE_ITALIC = 1 << 2,
    IK_STYLE_UNDERLINE = 1 << 3,
    IK_STYLE_REVERSE = 1 << 4,
    IK_STYLE_STRIKE = 1 << 5,
} ik_style_bit_t;

/* 0 is the terminal's default, IK_COLOUR_INDEX(n) one of its 256 colours. */
typedef uint32_t ik_colour_t;
#define IK_COLOUR_INDEX(n) ((ik_colour_t)(0x01000000u | (uint8_t)(n)))
#define IK_COLOUR_RGB(r, g, b)                                                                     \
    ((ik_colour_t)(0x02000000u | (uint32_t)(uint8_t)(r) << 16 | (uint32_t)(uint8_t)(g) << 8 |      \
                   (uint8_t)(b)))

typedef struct {
    uint32_t bits; /* of ik_style_bit_t */
    ik_colour_t fg;
    ik_colour_t bg;
} ik_style_t;

static inline bool ik_style_equal(ik_style_t a, ik_style_t b)
{
    return a.bits == b.bits && a.fg == b.fg && a.bg == b.bg;
}

#include "terminal/contrast.h"

#include <math.h>
#include <stddef.h>

static const double LEAST = 3.0;

enum {
    WHITE = 0xffffff,
    CUBE = 16, /* the first index of 6 × 6 × 6 colours */
    GREYS = 232,
    INDICES = 256,
    FULL = 255, /* a channel */
    STEPS = 256 /* from a colour to its brightest shade, from there to white, or to black */
};

static unsigned channel(uint32_t colour, int shift)
{
    return colour >> shift & 0xff;
}

static double linear(unsigned value)
{
    double part = value / 255.0;
    return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4);
}

static double luminance(uint32_t colour)
{
    return 0.2126 * linear(channel(colour, 16)) + 0.7152 * linear(channel(colour, 8)) +
           0.0722 * linear(channel(colour, 0));
}

double ik_contrast_ratio(uint32_t a, uint32_t b)
{
    double first = luminance(a) + 0.05;
    double second = luminance(b) + 0.05;
    return first > second ? first / second : second / first;
}

bool ik_contrast_is_light(uint32_t background)
{
    return ik_contrast_ratio(background, 0) > ik_contrast_ratio(background, WHITE);
}

static bool can_be_read(uint32_t colour, const uint32_t *background)
{
    return background == NULL || ik_contrast_ratio(colour, *background) >= LEAST;
}

/* --- another shade of a colour ----------------------------------------------------------- */

/* Step 0 is the colour, STEPS its brightest shade, 2 × STEPS white. */
static uint32_t lighten(uint32_t colour, unsigned step)
{
    unsigned most = 1;
    uint32_t result = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        unsigned value = channel(colour, shift);
        most = value > most ? value : most;
    }
    for (int shift = 16; shift >= 0; shift -= 8) {
        unsigned value = channel(colour, shift);
        unsigned bright = value * FULL / most;
        value = step < STEPS ? value + (bright - value) * step / STEPS
                             : bright + (FULL - bright) * (step - STEPS) / STEPS;
        result = result << 8 | value;
    }
    return result;
}

/* Step 2 × STEPS is black. */
static uint32_t darken(uint32_t colour, unsigned step)
{
    uint32_t result = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        result = result << 8 | channel(colour, shift) * (2 * STEPS - step) / (2 * STEPS);
    }
    return result;
}

uint32_t ik_contrast_repair(uint32_t colour, uint32_t background)
{
    uint32_t (*shade)(uint32_t, unsigned) = ik_contrast_is_light(background) ? darken : lighten;
    if (can_be_read(colour, &background)) {
        return colour;
    }
    unsigned unreadable = 0;
    unsigned readable = 2 * STEPS;
    while (readable - unreadable > 1) {
        unsigned middle = (unreadable + readable) / 2;
        if (can_be_read(shade(colour, middle), &background)) {
            readable = middle;
        } else {
            unreadable = middle;
        }
    }
    return shade(colour, readable);
}

/* --- the 256 colours --------------------------------------------------------------------- */

static uint32_t colour_of(unsigned index)
{
    static const uint8_t levels[] = {0, 95, 135, 175, 215, 255};
    if (index >= GREYS) {
        return 0x010101 * (8 + 10 * (index - GREYS));
    }
    unsigned cube = index - CUBE;
    return (uint32_t)levels[cube / 36] << 16 | (uint32_t)levels[cube / 6 % 6] << 8 |
           levels[cube % 6];
}

static int distance(uint32_t a, uint32_t b)
{
    int sum = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        int difference = (int)channel(a, shift) - (int)channel(b, shift);
        sum += difference * difference;
    }
    return sum;
}

static unsigned find_nearest(uint32_t colour, const uint32_t *background)
{
    unsigned nearest = CUBE;
    int least = INT32_MAX;
    for (unsigned index = CUBE; index < INDICES; index++) {
        int far = distance(colour, colour_of(index));
        if (far < least && can_be_read(colour_of(index), background)) {
            nearest = index;
            least = far;
        }
    }
    return nearest;
}

uint8_t ik_contrast_find_index(uint32_t colour, const uint32_t *background)
{
    unsigned index = find_nearest(colour, NULL);
    if (!can_be_read(colour_of(index), background)) {
        index = find_nearest(colour, background);
    }
    return (uint8_t)index;
}

#include "sixel/sixel.h"

#include <string.h>

#include "base/alloc.h"

enum {
    BITS = 5, /* of a channel, as colours are counted */
    BINS = 1 << (3 * BITS),
    TRANSPARENT = 0xffff,
    OPAQUE_FROM = 128, /* of alpha */
    BAND = 6,
};

typedef struct {
    uint8_t rgb[3];
} colour_t;

/* A picture in its final size, and the colours of its pixels. */
typedef struct {
    uint32_t width;
    uint32_t height;
    uint8_t *rgba;
    uint16_t *pixels; /* numbers in the palette, or TRANSPARENT */
    colour_t palette[IK_SIXEL_COLOURS_MAX];
    size_t count;
} image_t;

/* --- size -------------------------------------------------------------------------------- */

/* Each pixel is the mean of the pixels it stands for. */
static void scale(const ik_png_t *picture, image_t *image)
{
    for (uint32_t y = 0; y < image->height; y++) {
        size_t top = (size_t)y * picture->height / image->height;
        size_t bottom = (size_t)(y + 1) * picture->height / image->height;
        for (uint32_t x = 0; x < image->width; x++) {
            size_t left = (size_t)x * picture->width / image->width;
            size_t right = (size_t)(x + 1) * picture->width / image->width;
            uint64_t sums[4] = {0};
            for (size_t v = top; v < bottom; v++) {
                for (size_t u = left; u < right; u++) {
                    const uint8_t *from = picture->rgba + 4 * (v * picture->width + u);
                    for (int i = 0; i < 3; i++) {
                        sums[i] += (uint64_t)from[i] * from[3];
                    }
                    sums[3] += from[3];
                }
            }
            uint8_t *to = image->rgba + 4 * ((size_t)y * image->width + x);
            for (int i = 0; i < 3; i++) {
                to[i] = (uint8_t)(sums[3] == 0 ? 0 : sums[i] / sums[3]);
            }
            to[3] = (uint8_t)(sums[3] / ((bottom - top) * (right - left)));
        }
    }
}

/* --- palette ----------------------------------------------------------------------------- */

/* The number of a colour in the palette, which is added if there is room; -1: there is none. */
static int find_exact(image_t *image, const uint8_t *rgb, size_t most)
{
    for (size_t i = 0; i < image->count; i++) {
        if (memcmp(image->palette[i].rgb, rgb, 3) == 0) {
            return (int)i;
        }
    }
    if (image->count == most) {
        return -1;
    }
    memcpy(image->palette[image->count].rgb, rgb, 3);
    return (int)image->count++;
}

/* A drawing or screenshot may have few colours: then they are used as they are. */
static bool use_exact(image_t *image, size_t most)
{
    size_t total = (size_t)image->width * image->height;
    for (size_t i = 0; i < total; i++) {
        const uint8_t *pixel = image->rgba + 4 * i;
        bool same = i > 0 && memcmp(pixel, pixel - 4, 4) == 0;
        int number = pixel[3] < OPAQUE_FROM ? TRANSPARENT
                     : same                 ? image->pixels[i - 1]
                                            : find_exact(image, pixel, most);
        if (number < 0) {
            image->count = 0;
            return false;
        }
        image->pixels[i] = (uint16_t)number;
    }
    return true;
}

/* Similar colours of the picture, counted together. */
typedef struct {
    uint64_t count;
    uint64_t sums[3];
} bin_t;

/* A part of the used bins that becomes one colour. */
typedef struct {
    size_t from;
    size_t to;
    uint64_t count; /* of pixels */
    int channel;    /* in which its colours differ most */
    int spread;     /* and how much */
} box_t;

static size_t bin_of(const uint8_t *rgb)
{
    return (size_t)(rgb[0] >> (8 - BITS)) << (2 * BITS) | (size_t)(rgb[1] >> (8 - BITS)) << BITS |
           (size_t)(rgb[2] >> (8 - BITS));
}

static int mean(const bin_t *bin, int channel)
{
    return (int)(bin->sums[channel] / bin->count);
}

static void measure(box_t *box, const bin_t *bins)
{
    box->count = 0;
    box->spread = -1;
    for (size_t i = box->from; i < box->to; i++) {
        box->count += bins[i].count;
    }
    for (int channel = 0; channel < 3; channel++) {
        int least = 255;
        int most = 0;
        for (size_t i = box->from; i < box->to; i++) {
            int value = mean(&bins[i], channel);
            least = value < least ? value : least;
            most = value > most ? value : most;
        }
        if (most - least > box->spread) {
            box->spread = most - least;
            box->channel = channel;
        }
    }
}

/* Divides the box where half of its pixels are on either side. (Not with qsort, which calls the
 * system.) */
static box_t split(box_t *box, bin_t *bins)
{
    uint64_t counts[256] = {0};
    int last = 0; /* value of the lower half */
    uint64_t below = 0;
    size_t at = box->from;
    for (size_t i = box->from; i < box->to; i++) {
        counts[mean(&bins[i], box->channel)] += bins[i].count;
    }
    while (last < 255 && counts[last] == 0) {
        last++;
    }
    for (int i = last + 1; i < 256 && below + counts[last] < box->count / 2; i++) {
        if (counts[i] > 0 && below + counts[last] + counts[i] < box->count) {
            below += counts[last];
            last = i;
        }
    }
    for (size_t i = box->from; i < box->to; i++) {
        if (mean(&bins[i], box->channel) <= last) {
            bin_t bin = bins[i];
            bins[i] = bins[at];
            bins[at++] = bin;
        }
    }
    box_t other = {.from = at, .to = box->to};
    box->to = at;
    measure(box, bins);
    measure(&other, bins);
    return other;
}

/* Median cut: the box whose division gains most is divided until there are enough of them. */
static void choose_palette(image_t *image, size_t most)
{
    size_t used = 0;
    box_t boxes[IK_SIXEL_COLOURS_MAX];
    size_t count = 1;
    size_t total = (size_t)image->width * image->height;
    bin_t *bins = ik_new_array(image, bin_t, BINS);
    for (size_t i = 0; i < total; i++) {
        const uint8_t *pixel = image->rgba + 4 * i;
        bin_t *bin = &bins[bin_of(pixel)];
        if (pixel[3] >= OPAQUE_FROM) {
            bin->count++;
            for (int channel = 0; channel < 3; channel++) {
                bin->sums[channel] += pixel[channel];
            }
        }
    }
    for (size_t i = 0; i < BINS; i++) {
        if (bins[i].count > 0) {
            bins[used++] = bins[i];
        }
    }
    boxes[0] = (box_t){.to = used};
    measure(&boxes[0], bins);
    while (count < most) {
        size_t best = count;
        double gain = 0;
        for (size_t i = 0; i < count; i++) {
            double own = (double)boxes[i].count * boxes[i].spread * boxes[i].spread;
            if (own > gain) {
                best = i;
                gain = own;
            }
        }
        if (best == count) {
            break;
        }
        boxes[count] = split(&boxes[best], bins);
        count++;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t sums[3] = {0};
        for (size_t j = boxes[i].from; j < boxes[i].to; j++) {
            for (int channel = 0; channel < 3; channel++) {
                sums[channel] += bins[j].sums[channel];
            }
        }
        for (int channel = 0; channel < 3; channel++) {
            image->palette[i].rgb[channel] = (uint8_t)(sums[channel] / boxes[i].count);
        }
    }
    image->count = count;
    talloc_free(bins);
}

static size_t find_nearest(const image_t *image, const uint8_t *rgb)
{
    size_t best = 0;
    int least = INT32_MAX;
    for (size_t i = 0; i < image->count; i++) {
        int distance = 0;
        for (int channel = 0; channel < 3; channel++) {
            static const int weights[] = {3, 6, 1}; /* how bright a channel looks */
            int difference = rgb[channel] - image->palette[i].rgb[channel];
            distance += weights[channel] * difference * difference;
        }
        if (distance < least) {
            least = distance;
            best = i;
        }
    }
    return best;
}

/* Floyd-Steinberg: what a pixel lacks is added to its neighbours. */
static void dither(image_t *image)
{
    uint32_t width = image->width;
    int16_t *known = ik_new_array(image, int16_t, BINS);             /* 1 + the nearest colour */
    int *errors = ik_new_array(image, int, 6 * ((size_t)width + 2)); /* of this row and the next */
    for (uint32_t y = 0; y < image->height; y++) {
        int *here = errors + (y % 2) * 3 * ((size_t)width + 2);
        int *below = errors + (1 - y % 2) * 3 * ((size_t)width + 2);
        memset(below, 0, 3 * ((size_t)width + 2) * sizeof(*below));
        for (uint32_t x = 0; x < width; x++) {
            size_t at = (size_t)y * width + x;
            const uint8_t *pixel = image->rgba + 4 * at;
            uint8_t wanted[3];
            if (pixel[3] < OPAQUE_FROM) {
                image->pixels[at] = TRANSPARENT;
                continue;
            }
            for (int i = 0; i < 3; i++) {
                int value = pixel[i] + here[3 * (x + 1) + (size_t)i] / 16;
                wanted[i] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
            }
            int16_t *nearest = &known[bin_of(wanted)];
            *nearest = *nearest == 0 ? (int16_t)(1 + find_nearest(image, wanted)) : *nearest;
            image->pixels[at] = (uint16_t)(*nearest - 1);
            for (size_t i = 0; i < 3; i++) {
                int missing = wanted[i] - image->palette[*nearest - 1].rgb[i];
                here[3 * (x + 2) + i] += 7 * missing;
                below[3 * x + i] += 3 * missing;
                below[3 * (x + 1) + i] += 5 * missing;
                below[3 * (x + 2) + i] += missing;
            }
        }
    }
    talloc_free(errors);
    talloc_free(known);
}

/* --- output ------------------------------------------------------------------------------ */

static void append_run(ik_buffer_t *out, char character, uint32_t count)
{
    if (count > 3) {
        ik_buffer_append_format(out, "!%u%c", count, character);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        ik_buffer_append_byte(out, character);
    }
}

/* The pixels of one colour in a band: bits has a byte for each column. */
static void append_colour(ik_buffer_t *out, const uint8_t *bits, uint32_t width)
{
    uint32_t end = width;
    while (end > 0 && bits[end - 1] == 0) {
        end--;
    }
    for (uint32_t x = 0; x < end;) {
        uint32_t run = 1;
        while (x + run < end && bits[x + run] == bits[x]) {
            run++;
        }
        append_run(out, (char)('?' + bits[x]), run);
        x += run;
    }
}

static void append_bands(ik_buffer_t *out, const image_t *image)
{
    uint32_t width = image->width;
    uint8_t *bits = ik_new_array(image, uint8_t, image->count * width);
    bool used[IK_SIXEL_COLOURS_MAX];
    for (uint32_t top = 0; top < image->height; top += BAND) {
        bool first = true;
        memset(used, 0, sizeof(used));
        for (uint32_t y = top; y < top + BAND && y < image->height; y++) {
            for (uint32_t x = 0; x < width; x++) {
                uint16_t number = image->pixels[(size_t)y * width + x];
                if (number == TRANSPARENT) {
                    continue;
                }
                if (!used[number]) {
                    used[number] = true;
                    memset(bits + (size_t)number * width, 0, width);
                }
                bits[(size_t)number * width + x] |= (uint8_t)(1U << (y - top));
            }
        }
        ik_buffer_append_text(out, top == 0 ? "" : "-");
        for (size_t i = 0; i < image->count; i++) {
            if (used[i]) {
                ik_buffer_append_format(out, "%s#%zu", first ? "" : "$", i);
                append_colour(out, bits + i * width, width);
                first = false;
            }
        }
    }
    talloc_free(bits);
}

void ik_sixel_append(ik_buffer_t *out, const ik_png_t *picture, uint32_t width, uint32_t height,
                     size_t colours)
{
    image_t *image = ik_new(NULL, image_t);
    size_t total = (size_t)width * height;
    image->width = width;
    image->height = height;
    image->rgba = ik_new_array(image, uint8_t, 4 * total);
    image->pixels = ik_new_array(image, uint16_t, total);
    scale(picture, image);
    if (!use_exact(image, colours)) {
        choose_palette(image, colours);
        dither(image);
    }
    for (size_t i = 0; i < image->count; i++) {
        const uint8_t *rgb = image->palette[i].rgb;
        ik_buffer_append_format(out, "#%zu;2;%d;%d;%d", i, (rgb[0] * 100 + 127) / 255,
                                (rgb[1] * 100 + 127) / 255, (rgb[2] * 100 + 127) / 255);
    }
    append_bands(out, image);
    talloc_free(image);
}

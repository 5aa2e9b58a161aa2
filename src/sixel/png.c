#include "sixel/png.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"

enum { GREY = 0, RGB = 2, PALETTE = 3, GREY_ALPHA = 4, RGB_ALPHA = 6 };

/* A rectangle of pixels whose rows are stored together: the whole picture, or every n-th pixel. */
typedef struct {
    uint32_t x, y, step_x, step_y;
} pass_t;

static const pass_t whole[] = {{0, 0, 1, 1}};
static const pass_t interlaced[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                    {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};

typedef struct {
    uint32_t width;
    uint32_t height;
    unsigned depth; /* bits per sample */
    unsigned kind;
    unsigned channels;
    const pass_t *passes;
    size_t pass_count;
    uint8_t palette[256][4];
    size_t palette_count;
    bool has_key; /* pixels of the colour `key` are transparent */
    uint16_t key[3];
    z_stream stream;
    bool ended;
    uint8_t *raw; /* filtered rows, each after the number of its filter */
    size_t raw_len;
} picture_t;

static uint32_t read_32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static uint16_t read_16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

/* --- sizes ------------------------------------------------------------------------------- */

static uint32_t count_steps(uint32_t size, uint32_t from, uint32_t step)
{
    return size <= from ? 0 : (size - from + step - 1) / step;
}

static size_t row_bytes(const picture_t *picture, uint32_t columns)
{
    return ((size_t)columns * picture->channels * picture->depth + 7) / 8;
}

static size_t raw_size(const picture_t *picture)
{
    size_t size = 0;
    for (size_t i = 0; i < picture->pass_count; i++) {
        const pass_t *pass = &picture->passes[i];
        uint32_t columns = count_steps(picture->width, pass->x, pass->step_x);
        uint32_t rows = count_steps(picture->height, pass->y, pass->step_y);
        size += columns == 0 ? 0 : rows * (row_bytes(picture, columns) + 1);
    }
    return size;
}

/* --- chunks ------------------------------------------------------------------------------ */

static bool read_header(picture_t *picture, const uint8_t *data, size_t len)
{
    static const uint8_t channels[] = {
        [GREY] = 1, [RGB] = 3, [PALETTE] = 1, [GREY_ALPHA] = 2, [RGB_ALPHA] = 4};
    if (len != 13 || data[9] >= sizeof(channels) || channels[data[9]] == 0 || data[10] != 0 ||
        data[11] != 0 || data[12] > 1) {
        return false;
    }
    picture->width = read_32(data);
    picture->height = read_32(data + 4);
    picture->depth = data[8];
    picture->kind = data[9];
    picture->channels = channels[data[9]];
    picture->passes = data[12] == 0 ? whole : interlaced;
    picture->pass_count = data[12] == 0 ? 1 : sizeof(interlaced) / sizeof(*interlaced);
    bool small = picture->depth == 1 || picture->depth == 2 || picture->depth == 4;
    bool valid = picture->depth == 8 || (small && picture->channels == 1) ||
                 (picture->depth == 16 && picture->kind != PALETTE);
    return valid && picture->width > 0 && picture->width <= IK_PNG_SIDE_MAX &&
           picture->height > 0 && picture->height <= IK_PNG_SIDE_MAX;
}

static void read_palette(picture_t *picture, const uint8_t *data, size_t len)
{
    picture->palette_count = len / 3 < 256 ? len / 3 : 256;
    for (size_t i = 0; i < picture->palette_count; i++) {
        memcpy(picture->palette[i], data + 3 * i, 3);
        picture->palette[i][3] = 255;
    }
}

static void read_transparency(picture_t *picture, const uint8_t *data, size_t len)
{
    if (picture->kind == PALETTE) {
        for (size_t i = 0; i < len && i < picture->palette_count; i++) {
            picture->palette[i][3] = data[i];
        }
    } else if (len >= 2 * picture->channels && picture->channels != 2 && picture->channels != 4) {
        picture->has_key = true;
        for (unsigned i = 0; i < picture->channels; i++) {
            picture->key[i] = read_16(data + 2 * i);
        }
    }
}

static bool read_data(picture_t *picture, const uint8_t *data, size_t len)
{
    z_stream *stream = &picture->stream;
    stream->next_in = (Bytef *)data;
    stream->avail_in = (uInt)len;
    int result = picture->ended || len == 0 ? Z_OK : inflate(stream, Z_NO_FLUSH);
    picture->ended = picture->ended || result == Z_STREAM_END;
    /* more data than the picture has pixels is ignored */
    return result == Z_OK || result == Z_STREAM_END || stream->avail_out == 0;
}

/* Reads the chunks up to the end of the picture; the rows are complete then. */
static bool read_chunks(const void *ctx, picture_t *picture, const uint8_t *bytes, size_t len)
{
    static const uint8_t signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    size_t at = sizeof(signature);
    if (len < at || memcmp(bytes, signature, at) != 0) {
        return false;
    }
    while (len - at >= 12) {
        size_t size = read_32(bytes + at);
        const uint8_t *kind = bytes + at + 4;
        const uint8_t *data = bytes + at + 8;
        if (size > len - at - 12) {
            return false;
        }
        bool first = at == sizeof(signature);
        if (first != (memcmp(kind, "IHDR", 4) == 0)) {
            return false;
        }
        if (first) {
            if (!read_header(picture, data, size)) {
                return false;
            }
            picture->raw_len = raw_size(picture);
            picture->raw = ik_new_array(ctx, uint8_t, picture->raw_len);
            picture->stream.next_out = picture->raw;
            picture->stream.avail_out = (uInt)picture->raw_len;
        } else if (memcmp(kind, "PLTE", 4) == 0) {
            read_palette(picture, data, size);
        } else if (memcmp(kind, "tRNS", 4) == 0) {
            read_transparency(picture, data, size);
        } else if (memcmp(kind, "IDAT", 4) == 0 && !read_data(picture, data, size)) {
            return false;
        }
        at += 12 + size;
    }
    return picture->raw != NULL && picture->stream.avail_out == 0;
}

/* --- pixels ------------------------------------------------------------------------------ */

static uint8_t predict(uint8_t left, uint8_t up, uint8_t corner)
{
    int guess = left + up - corner;
    int by_left = abs(guess - left);
    int by_up = abs(guess - up);
    int by_corner = abs(guess - corner);
    return by_left <= by_up && by_left <= by_corner ? left : by_up <= by_corner ? up : corner;
}

/* row[-1] is the number of its filter; above is NULL for the first row of a pass. */
static bool unfilter(uint8_t *row, const uint8_t *above, size_t len, size_t pixel)
{
    unsigned filter = row[-1];
    for (size_t i = 0; i < len && filter != 0; i++) {
        uint8_t left = i < pixel ? 0 : row[i - pixel];
        uint8_t up = above == NULL ? 0 : above[i];
        uint8_t corner = above == NULL || i < pixel ? 0 : above[i - pixel];
        row[i] = (uint8_t)(row[i] + (filter == 1   ? left
                                     : filter == 2 ? up
                                     : filter == 3 ? (left + up) / 2
                                                   : predict(left, up, corner)));
    }
    return filter <= 4;
}

/* A sample with the bits of its depth. */
static uint16_t read_sample(const picture_t *picture, const uint8_t *row, size_t index)
{
    unsigned depth = picture->depth;
    if (depth == 16) {
        return read_16(row + 2 * index);
    }
    unsigned shift = 8 - depth - (unsigned)(index * depth % 8);
    return (uint16_t)(row[index * depth / 8] >> shift & ((1U << depth) - 1));
}

static void read_pixel(const picture_t *picture, const uint8_t *row, uint32_t column, uint8_t *rgba)
{
    uint16_t samples[4];
    unsigned most = (1U << picture->depth) - 1;
    bool transparent = picture->has_key;
    for (unsigned i = 0; i < picture->channels; i++) {
        samples[i] = read_sample(picture, row, (size_t)column * picture->channels + i);
        transparent = transparent && samples[i] == picture->key[i];
    }
    if (picture->kind == PALETTE) { /* an index beyond the palette is black */
        memcpy(rgba, picture->palette[samples[0]], 4);
        rgba[3] = samples[0] < picture->palette_count ? rgba[3] : 255;
        return;
    }
    bool grey = picture->channels <= 2;
    for (unsigned i = 0; i < 3; i++) {
        rgba[i] = (uint8_t)(samples[grey ? 0 : i] * 255U / most);
    }
    bool has_alpha = picture->channels == 2 || picture->channels == 4;
    rgba[3] = transparent ? 0
              : has_alpha ? (uint8_t)(samples[picture->channels - 1] * 255U / most)
                          : 255;
}

static bool read_pixels(const picture_t *picture, uint8_t *rgba)
{
    uint8_t *raw = picture->raw;
    size_t pixel = (picture->channels * picture->depth + 7) / 8;
    for (size_t i = 0; i < picture->pass_count; i++) {
        const pass_t *pass = &picture->passes[i];
        const uint8_t *above = NULL;
        uint32_t columns = count_steps(picture->width, pass->x, pass->step_x);
        uint32_t rows = count_steps(picture->height, pass->y, pass->step_y);
        size_t len = row_bytes(picture, columns);
        for (uint32_t y = 0; columns > 0 && y < rows; y++) {
            uint8_t *row = raw + 1;
            if (!unfilter(row, above, len, pixel)) {
                return false;
            }
            for (uint32_t x = 0; x < columns; x++) {
                size_t place = (size_t)(pass->y + y * pass->step_y) * picture->width + pass->x +
                               (size_t)x * pass->step_x;
                read_pixel(picture, row, x, rgba + 4 * place);
            }
            above = row;
            raw = row + len;
        }
    }
    return true;
}

bool ik_png_decode(const void *ctx, const uint8_t *bytes, size_t len, ik_png_t *out)
{
    void *scratch = talloc_new(NULL);
    picture_t *picture = ik_new(scratch, picture_t);
    bool decoded =
        inflateInit(&picture->stream) == Z_OK && read_chunks(scratch, picture, bytes, len);
    inflateEnd(&picture->stream);
    if (decoded) {
        *out = (ik_png_t){.width = picture->width, .height = picture->height};
        out->rgba = ik_new_array(ctx, uint8_t, 4 * (size_t)picture->width * picture->height);
        decoded = read_pixels(picture, out->rgba);
    }
    talloc_free(scratch);
    return decoded;
}

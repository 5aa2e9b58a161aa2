/*
 * PNG files: any bytes. The first three say how large the picture is shown and with how many
 * colours. What is decoded becomes Sixel data that the terminal gets: it consists of the characters
 * that belong to it and has no more bands than the picture.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "pieces.h"
#include "sixel/sixel.h"
#include "terminal/preview.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    enum { PIXELS_MAX = 1 << 16 }; /* that are decoded: more only take more time */
    if (len < 3 + 26) {
        return 0;
    }
    const uint8_t *sides = bytes + 3 + 16;
    uint32_t wide =
        (uint32_t)sides[0] << 24 | (uint32_t)sides[1] << 16 | (uint32_t)sides[2] << 8 | sides[3];
    uint32_t high =
        (uint32_t)sides[4] << 24 | (uint32_t)sides[5] << 16 | (uint32_t)sides[6] << 8 | sides[7];
    if ((uint64_t)wide * high > PIXELS_MAX) {
        return 0;
    }
    void *ctx = talloc_new(NULL);
    uint8_t *copy = talloc_memdup(ctx, bytes + 3, len - 3); /* a byte beyond the end is seen */
    ik_png_t picture;
    if (ik_png_decode(ctx, copy, len - 3, &picture)) {
        uint32_t width = 1 + picture.width * bytes[0] / 256;
        uint32_t height = 1 + picture.height * bytes[1] / 256;
        size_t colours = 2 + (size_t)bytes[2] % 255;
        ik_preview_size_t size = {.width = (int)width, .height = (int)height, .rows = 1};
        ik_buffer_t out;
        ik_buffer_t row;
        ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
        ik_buffer_init(&row, ctx, IK_BUFFER_UNLIMITED);
        ik_sixel_append(&out, &picture, width, height, colours);
        REQUIRE(picture.width == wide && picture.height == high);
        REQUIRE(out.len == 0 || ik_preview_append_sixel(&row, &size, out.data, out.len));
    }
    talloc_free(ctx);
    return 0;
}

/*
 * Images: any bytes. The first byte says where they are cut. Whatever the beginning of a file says
 * about kind and pixels, the whole file says, too; what is accepted is within the limits.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/image.h"
#include "pieces.h"

/* Parses a copy of its own length, so that a byte read beyond the end is seen. */
static bool parse(const uint8_t *bytes, size_t len, ik_image_t *image)
{
    char *copy = malloc(len == 0 ? 1 : len);
    REQUIRE(copy != NULL);
    memcpy(copy, bytes, len);
    bool parsed = ik_image_parse(copy, len, image);
    ik_image_t checked;
    res_t result = ik_image_check(copy, len, len, &checked);
    REQUIRE(parsed || is_err(&result));
    REQUIRE(is_err(&result) || (checked.width <= IK_IMAGE_SIDE_MAX && checked.width > 0 &&
                                checked.height <= IK_IMAGE_SIDE_MAX && checked.height > 0));
    REQUIRE(!parsed || ik_image_begins(copy, len));
    REQUIRE(!parsed || ik_image_kind_of(ik_image_media_type(image->kind)) == image->kind);
    free(copy);
    return parsed;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0) {
        return 0;
    }
    ik_image_t whole;
    ik_image_t part;
    size_t cut = (len - 1) * bytes[0] / 256;
    bool parsed = parse(bytes + 1, len - 1, &whole);
    if (parse(bytes + 1, cut, &part)) {
        REQUIRE(parsed && part.kind == whole.kind && part.width == whole.width &&
                part.height == whole.height);
        REQUIRE(whole.animated || !part.animated);
    }
    return 0;
}

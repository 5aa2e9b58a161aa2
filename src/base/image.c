#include "base/image.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/base64.h"

static const struct {
    const char *media_type;
    const char *extension;
} kinds[] = {
    [IK_IMAGE_NONE] = {NULL, NULL},           [IK_IMAGE_PNG] = {"image/png", "png"},
    [IK_IMAGE_JPEG] = {"image/jpeg", "jpg"},  [IK_IMAGE_GIF] = {"image/gif", "gif"},
    [IK_IMAGE_WEBP] = {"image/webp", "webp"},
};

/* The bytes of an image. Reading beyond their end gives zeros; parsers compare offsets with len
 * where that matters. */
typedef struct {
    const unsigned char *at;
    size_t len;
} bytes_t;

static uint32_t byte_at(bytes_t bytes, size_t offset)
{
    return offset < bytes.len ? bytes.at[offset] : 0;
}

static uint32_t big16(bytes_t bytes, size_t offset)
{
    return byte_at(bytes, offset) << 8 | byte_at(bytes, offset + 1);
}

static uint32_t big32(bytes_t bytes, size_t offset)
{
    return big16(bytes, offset) << 16 | big16(bytes, offset + 2);
}

static uint32_t little16(bytes_t bytes, size_t offset)
{
    return byte_at(bytes, offset) | byte_at(bytes, offset + 1) << 8;
}

static uint32_t little24(bytes_t bytes, size_t offset)
{
    return little16(bytes, offset) | byte_at(bytes, offset + 2) << 16;
}

static bool has_text(bytes_t bytes, size_t offset, const char *text)
{
    size_t len = strlen(text);
    return offset + len <= bytes.len && memcmp(bytes.at + offset, text, len) == 0;
}

bool ik_image_begins(const char *bytes, size_t len)
{
    bytes_t all = {(const unsigned char *)bytes, len};
    return has_text(all, 0, "\x89PNG\r\n\x1a\n") || has_text(all, 0, "\xff\xd8\xff") ||
           has_text(all, 0, "GIF87a") || has_text(all, 0, "GIF89a") ||
           (has_text(all, 0, "RIFF") && has_text(all, 8, "WEBP"));
}

/* --- png --------------------------------------------------------------------------------- */

static bool parse_png(bytes_t bytes, ik_image_t *image)
{
    enum { HEADER_LEN = 33 }; /* the signature and the whole chunk IHDR */
    if (!has_text(bytes, 0, "\x89PNG\r\n\x1a\n") || bytes.len < HEADER_LEN ||
        big32(bytes, 8) != 13 || !has_text(bytes, 12, "IHDR")) {
        return false;
    }
    *image = (ik_image_t){IK_IMAGE_PNG, big32(bytes, 16), big32(bytes, 20), false};
    return true;
}

/* Whether the chunks do not lead to the last one, with all its bytes. What they hold is left to the
 * decoder. */
static bool is_cut_png(bytes_t bytes)
{
    size_t at = 8;
    while (at + 8 <= bytes.len && byte_at(bytes, at + 4) >= 'A' &&
           !has_text(bytes, at + 4, "IEND")) {
        at += 12 + (size_t)big32(bytes, at);
    }
    return at + 12 > bytes.len || !has_text(bytes, at + 4, "IEND");
}

/* --- jpeg -------------------------------------------------------------------------------- */

static bool is_frame_header(uint32_t marker)
{
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

/* Markers without a length: TEM, RST0 to RST7, SOI. */
static bool stands_alone(uint32_t marker)
{
    return marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8);
}

static bool parse_jpeg(bytes_t bytes, ik_image_t *image)
{
    if (!has_text(bytes, 0, "\xff\xd8\xff")) {
        return false;
    }
    size_t at = 2;
    while (at + 9 <= bytes.len && byte_at(bytes, at) == 0xff) {
        uint32_t marker = byte_at(bytes, at + 1);
        if (marker == 0xff) { /* a fill byte */
            at++;
        } else if (is_frame_header(marker)) {
            *image = (ik_image_t){IK_IMAGE_JPEG, big16(bytes, at + 7), big16(bytes, at + 5), false};
            return true;
        } else if (marker == 0xd9 || marker == 0xda) { /* no header before the data */
            return false;
        } else {
            at += stands_alone(marker) ? 2 : 2 + (size_t)big16(bytes, at + 2);
        }
    }
    return false;
}

/* --- gif --------------------------------------------------------------------------------- */

/* The length of a colour table whose flags are these. */
static size_t colour_table(uint32_t flags)
{
    return (flags & 0x80) == 0 ? 0 : (size_t)3 << ((flags & 7) + 1);
}

/* The offset behind a list of sub-blocks, which an empty one ends. */
static size_t skip_blocks(bytes_t bytes, size_t at)
{
    while (at < bytes.len && byte_at(bytes, at) != 0) {
        at += 1 + byte_at(bytes, at);
    }
    return at + 1;
}

static bool has_two_frames(bytes_t bytes)
{
    size_t at = 13 + colour_table(byte_at(bytes, 10));
    size_t frames = 0;
    while (at < bytes.len && frames < 2) {
        if (byte_at(bytes, at) == 0x21) { /* an extension */
            at = skip_blocks(bytes, at + 2);
        } else if (byte_at(bytes, at) == 0x2c) { /* a frame */
            frames++;
            at = skip_blocks(bytes, at + 11 + colour_table(byte_at(bytes, at + 9)));
        } else {
            break;
        }
    }
    return frames >= 2;
}

static bool parse_gif(bytes_t bytes, ik_image_t *image)
{
    enum { HEADER_LEN = 13 };
    if ((!has_text(bytes, 0, "GIF87a") && !has_text(bytes, 0, "GIF89a")) ||
        bytes.len < HEADER_LEN) {
        return false;
    }
    *image =
        (ik_image_t){IK_IMAGE_GIF, little16(bytes, 6), little16(bytes, 8), has_two_frames(bytes)};
    return true;
}

/* --- webp -------------------------------------------------------------------------------- */

static bool parse_webp(bytes_t bytes, ik_image_t *image)
{
    *image = (ik_image_t){.kind = IK_IMAGE_WEBP};
    if (!has_text(bytes, 0, "RIFF") || !has_text(bytes, 8, "WEBP")) {
        return false;
    }
    if (has_text(bytes, 12, "VP8X") && bytes.len >= 30) {
        image->width = little24(bytes, 24) + 1;
        image->height = little24(bytes, 27) + 1;
        return true;
    }
    if (has_text(bytes, 12, "VP8L") && bytes.len >= 25 && byte_at(bytes, 20) == 0x2f) {
        uint32_t bits = little24(bytes, 21) | byte_at(bytes, 24) << 24;
        image->width = (bits & 0x3fff) + 1;
        image->height = (bits >> 14 & 0x3fff) + 1;
        return true;
    }
    if (has_text(bytes, 12, "VP8 ") && bytes.len >= 30 && has_text(bytes, 23, "\x9d\x01\x2a")) {
        image->width = little16(bytes, 26) & 0x3fff;
        image->height = little16(bytes, 28) & 0x3fff;
        return true;
    }
    return false;
}

static bool is_cut_webp(bytes_t bytes)
{
    return (uint64_t)little16(bytes, 4) + ((uint64_t)little16(bytes, 6) << 16) + 8 > bytes.len;
}

/* --- all --------------------------------------------------------------------------------- */

bool ik_image_parse(const char *bytes, size_t len, ik_image_t *image)
{
    bytes_t all = {(const unsigned char *)bytes, len};
    bool found = parse_png(all, image) || parse_jpeg(all, image) || parse_gif(all, image) ||
                 parse_webp(all, image);
    if (!found || image->width == 0 || image->height == 0) {
        *image = (ik_image_t){0};
        return false;
    }
    return true;
}

res_t ik_image_check(const char *bytes, size_t len, uint64_t total, ik_image_t *image)
{
    bytes_t all = {(const unsigned char *)bytes, len};
    if (!ik_image_parse(bytes, len, image)) {
        return total == 0 ? ERR(INVALID, "the file is empty")
                          : ERR(INVALID, "not a png, jpeg, gif or webp image, or cut off");
    }
    if (image->width > IK_IMAGE_SIDE_MAX || image->height > IK_IMAGE_SIDE_MAX) {
        return ERR(LIMIT, "%" PRIu32 "x%" PRIu32 " pixels; at most %dx%d are accepted",
                   image->width, image->height, IK_IMAGE_SIDE_MAX, IK_IMAGE_SIDE_MAX);
    }
    if (ik_image_base64_length(total) > IK_IMAGE_BASE64_MAX) {
        return ERR(LIMIT,
                   "%" PRIu64 " bytes (%" PRIu64 " in base64); at most %d (%d in base64) are "
                   "accepted",
                   total, ik_image_base64_length(total), IK_IMAGE_BYTES_MAX, IK_IMAGE_BASE64_MAX);
    }
    if (total == len && ((image->kind == IK_IMAGE_PNG && is_cut_png(all)) ||
                         (image->kind == IK_IMAGE_WEBP && is_cut_webp(all)))) {
        return ERR(INVALID, "the %s image is cut off or damaged", kinds[image->kind].extension);
    }
    return OK;
}

bool ik_image_append_decoded(ik_buffer_t *out, ik_json_span_t literal)
{
    size_t len;
    char *text = ik_json_decode(NULL, literal, &len);
    size_t kept = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\0' || strchr(" \t\r\n\f\v", text[i]) == NULL) {
            text[kept++] = text[i];
        }
    }
    const char *comma = kept >= 5 && memcmp(text, "data:", 5) == 0 ? memchr(text, ',', kept) : NULL;
    size_t from = comma == NULL ? 0 : (size_t)(comma - text) + 1;
    bool valid = ik_base64_append_decoded(out, text + from, kept - from);
    talloc_free(text);
    return valid;
}

const char *ik_image_media_type(ik_image_kind_t kind)
{
    return kinds[kind].media_type;
}

const char *ik_image_extension(ik_image_kind_t kind)
{
    return kinds[kind].extension;
}

ik_image_kind_t ik_image_kind_of(const char *media_type)
{
    for (size_t i = IK_IMAGE_PNG; i < IK_LENGTH(kinds); i++) {
        if (strcmp(media_type, kinds[i].media_type) == 0) {
            return (ik_image_kind_t)i;
        }
    }
    return IK_IMAGE_NONE;
}

uint64_t ik_image_base64_length(uint64_t bytes)
{
    return (bytes + 2) / 3 * 4;
}

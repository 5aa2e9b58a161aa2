/*
 * Recognises images by their content and reads their size in pixels from the header. Names and
 * declared types are never trusted: providers compare them with the bytes and refuse the request.
 * The limits are those that every provider accepts, whatever else a request holds. No I/O.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

enum {
    IK_IMAGE_BASE64_MAX = 5242880, /* characters of the base64 text of an image */
    IK_IMAGE_BYTES_MAX = 3932160,  /* bytes that have a base64 text of this length */
    IK_IMAGE_SIDE_MAX = 2000,      /* pixels of the width and of the height */
    IK_IMAGE_TOKENS = 1600,        /* what an image counts in estimates of the context */
};

typedef enum {
    IK_IMAGE_NONE, /* something else, or the header is cut off */
    IK_IMAGE_PNG,
    IK_IMAGE_JPEG,
    IK_IMAGE_GIF,
    IK_IMAGE_WEBP,
} ik_image_kind_t;

typedef struct {
    ik_image_kind_t kind;
    uint32_t width;
    uint32_t height;
    bool animated; /* a gif of several frames */
} ik_image_t;

/* Whether the bytes begin with the signature of an image. A few bytes are enough. */
bool ik_image_begins(const char *bytes, size_t len);
/* Reads the header of an image; false when it is not one, or too short to tell its size. Works
 * on the beginning of a file as well; animated may then be false too often. */
bool ik_image_parse(const char *bytes, size_t len, ik_image_t *image);

/* Parses an image and checks it against the limits. total is the length of the file, of which bytes
 * may be only the beginning. IK_ERR_INVALID: not an image, or cut off; IK_ERR_LIMIT: too large,
 * and the message has the numbers (image is filled in). */
res_t ik_image_check(const char *bytes, size_t len, uint64_t total, ik_image_t *image);

/* Decodes the base64 text of an image, a scanned JSON string, to the end of a buffer: without white
 * space, which many programs put into it, and after "data:image/png;base64,". False when it is not
 * base64 with padding; what was decoded up to the fault stays appended. */
bool ik_image_append_decoded(ik_buffer_t *out, ik_json_span_t literal);

/* "image/png"; NULL for IK_IMAGE_NONE. */
const char *ik_image_media_type(ik_image_kind_t kind);
/* "png"; NULL for IK_IMAGE_NONE. */
const char *ik_image_extension(ik_image_kind_t kind);
/* The kind of a media type as written by ik_image_media_type; IK_IMAGE_NONE: another one. */
ik_image_kind_t ik_image_kind_of(const char *media_type);
/* The length of the base64 text of that many bytes. */
uint64_t ik_image_base64_length(uint64_t bytes);

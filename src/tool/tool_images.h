/*
 * Takes the images out of a tool's result, which names files or carries base64:
 *
 *   "images": [{"path": "shot.png"}, {"data": "iVBOR…", "media_type": "image/png"}]
 *
 * Each is checked before it enters a conversation, stored as a blob, and described in the result in
 * place of its data: media_type, width, height, bytes, or error and error_code. A file is read
 * where the tool ran, with what the tool may read: by file-read in its room.
 */
#pragma once

#include "conversation/message.h"
#include "tool/tool_runner.h"

#define IK_TOOL_INVALID_IMAGE "INVALID_IMAGE"

/* Bytes of a result beyond its text: base64 is not cut by max_output_size. */
enum { IK_TOOL_IMAGES_BYTES_MAX = 24 * 1024 * 1024 };

typedef struct ik_tool_images ik_tool_images_t;

typedef struct {
    char *result; /* the result with its images described */
    size_t result_len;
    const ik_msg_image_t *images;
    size_t count;
} ik_tool_images_end_t;

typedef struct {
    const ik_tool_context_t *context;
    ik_process_host_t *host; /* runs file-read and programs that scale images */
    const char *tool;        /* its name, for images that have none */
    ik_json_span_t result;   /* lives until the end */
    /* What end points to lives as long as the object. */
    void (*on_end)(void *data, const ik_tool_images_end_t *end);
    void *data;
} ik_tool_images_options_t;

/* Whether a result names images: an object with a list called images, at least one entry of which
 * has a path or data. */
bool ik_tool_images_found(ik_json_span_t result);
/* on_end is called exactly once, from the loop, never before this returns. Freeing the object
 * cancels it without on_end. */
ik_tool_images_t *ik_tool_images_start(const void *ctx, const ik_tool_images_options_t *options);
/* Makes the result of a successful call: the envelope with what is left, and the images. The texts
 * are on result->owner. note as in ik_tool_wrap_success. */
void ik_tool_images_succeed(const ik_tool_images_end_t *end, size_t max_output, const char *note,
                            ik_tool_result_t *result);

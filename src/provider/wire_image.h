/*
 * The images of a conversation on the wire. Each is sent as it is, or a marker is sent in its
 * place: a line of text that names it and says why it is missing. Which of the two follows from the
 * request alone, so that the same image has the same bytes in every request.
 */
#pragma once

#include "provider/wire.h"

enum {
    IK_WIRE_IMAGES_MAX = 20,                    /* in one request */
    IK_WIRE_IMAGE_BYTES_MAX = 24 * 1024 * 1024, /* of base64 in one request */
};

struct ik_wire_image {
    ik_msg_image_t facts;
    size_t message;    /* its index in the conversation */
    size_t result;     /* the number of its tool result, from 1; 0: the user sent it */
    const char *why;   /* the reason that its marker gives; NULL: the image is sent */
    const char *fault; /* a reason that is its own: the blob is missing */
    bool checked;      /* fault and animated are known */
    bool animated;
    size_t refused_at;  /* index of the message that records its refusal; 0: none does */
    size_t left_out_at; /* index of the message whose image took its place in requests; 0: none */
    size_t at;          /* where its base64 begins in ik_wire_t.messages, once it is serialised */
};

/* Reads the images of messages that were added to the conversation, and decides for each whether it
 * is sent. Returns whether one is sent differently that was serialised before. */
bool ik_wire_image_plan(ik_wire_t *wire, const ik_request_t *request);
/* Whether an image before the message at index became a marker after that message came, so that
 * reasoning in the message refers to an image that is no longer sent. */
bool ik_wire_image_changed_before(const ik_wire_t *wire, size_t index);
/* Forgets the images: the conversation is another one. */
void ik_wire_image_reset(ik_wire_t *wire);

/* --- for format_group ---------------------------------------------------------------------- */

/* The next image of a message: start with position 0; NULL at the end. */
ik_wire_image_t *ik_wire_image_next(const ik_wire_t *wire, const ik_msg_t *message,
                                    size_t *position);
/* Whether any image of the message is sent. */
bool ik_wire_image_any_sent(const ik_wire_t *wire, const ik_msg_t *message);
/* Appends to the messages `before`, with "%s" replaced by the media type, the base64 of the image
 * and `after`. False when a marker is to be written instead, and nothing was appended. */
bool ik_wire_image_append(ik_wire_t *wire, const ik_request_t *request, ik_wire_image_t *image,
                          const char *before, const char *after);
/* Appends the marker of an image as the inside of a JSON string. */
void ik_wire_image_append_marker(ik_buffer_t *out, const ik_wire_image_t *image);
/* Appends the markers of those images of a message that are not sent, each on a line of its own;
 * before precedes the first one. */
void ik_wire_image_append_markers(const ik_wire_t *wire, ik_buffer_t *out, const ik_msg_t *message,
                                  const char *before);

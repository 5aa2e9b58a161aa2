#include "provider/wire_image.h"

#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/image.h"
#include "provider/words.h"

static const char blind[] = "this model does not see images";
static const char for_user[] = "shown to the user only";
static const char refused[] = "refused by the provider";
static const char no_gif[] = "this provider accepts no gif";
static const char no_animation[] = "this provider accepts no animated gif";
static const char too_many[] = "left out, a request holds at most 20 images";
static const char too_large[] = "left out, a request holds at most 24 MiB of images";
static const char lost[] = "its contents are no longer stored";

/* --- collecting -------------------------------------------------------------------------- */

void ik_wire_image_reset(ik_wire_t *wire)
{
    TALLOC_FREE(wire->images);
    wire->image_count = wire->image_results = wire->images_seen = 0;
}

/* Notes the refusal of images that came before. */
static void note_refusal(ik_wire_t *wire, const ik_msg_t *drop, size_t index)
{
    ik_json_span_t list;
    ik_json_span_t name;
    size_t position = 0;
    ik_msg_field(drop, "images", &list);
    while (ik_json_next_element(list, &position, &name)) {
        for (size_t i = 0; i < wire->image_count; i++) {
            ik_wire_image_t *image = &wire->images[i];
            if (image->refused_at == 0 && ik_json_is_text(name, image->facts.sha256.hex)) {
                image->refused_at = index;
            }
        }
    }
}

static void collect(ik_wire_t *wire, const ik_conversation_t *conversation)
{
    for (; wire->images_seen < conversation->count; wire->images_seen++) {
        const ik_msg_t *message = conversation->messages[wire->images_seen];
        bool is_result = ik_msg_is(message, IK_MSG_TOOL_RESULT);
        ik_msg_image_t *images;
        wire->image_results += is_result;
        if (ik_msg_is_image_drop(message)) {
            note_refusal(wire, message, wire->images_seen);
        }
        if (message->data_json == NULL || (!is_result && !ik_msg_is(message, IK_MSG_USER))) {
            continue;
        }
        void *scratch = talloc_new(NULL);
        size_t count = ik_msg_images(scratch, message, &images);
        if (count > 0) {
            wire->images =
                ik_resize_array(wire, wire->images, ik_wire_image_t, wire->image_count + count);
        }
        for (size_t i = 0; i < count; i++) {
            ik_wire_image_t *image = &wire->images[wire->image_count++];
            *image = (ik_wire_image_t){.facts = images[i],
                                       .message = wire->images_seen,
                                       .result = is_result ? wire->image_results : 0};
            image->facts.name = ik_strdup(wire->images, images[i].name);
        }
        talloc_free(scratch);
    }
}

/* --- deciding ---------------------------------------------------------------------------- */

static bool read_bytes(const ik_request_t *request, const void *ctx, const ik_wire_image_t *image,
                       char **bytes, size_t *len)
{
    const ik_request_images_t *images = &request->images;
    return images->read != NULL &&
           images->read(images->data, ctx, image->facts.sha256.hex, bytes, len) &&
           *len == image->facts.bytes;
}

/* Reads the contents of an image that may be sent, once. */
static void check(const ik_request_t *request, ik_wire_image_t *image)
{
    char *bytes;
    size_t len;
    ik_image_t found;
    void *scratch = talloc_new(NULL);
    bool valid = read_bytes(request, scratch, image, &bytes, &len) &&
                 ik_image_parse(bytes, len, &found) &&
                 strcmp(ik_image_media_type(found.kind), image->facts.media_type) == 0;
    image->fault = valid ? NULL : lost;
    image->animated = valid && found.animated;
    image->checked = true;
    talloc_free(scratch);
}

static bool is_refused(const ik_request_t *request, const ik_wire_image_t *image)
{
    for (size_t i = 0; i < request->images.refused_count; i++) {
        if (strcmp(request->images.refused[i].hex, image->facts.sha256.hex) == 0) {
            return true;
        }
    }
    return false;
}

/* Why a marker is sent, whatever the contents are; NULL: for no reason. */
static const char *find_reason(const ik_request_t *request, const ik_wire_image_t *image)
{
    bool is_gif = ik_image_kind_of(image->facts.media_type) == IK_IMAGE_GIF;
    if (image->message < request->images.dropped ||
        (image->result > 0 && image->result <= request->trimmed_results)) {
        return ik_msg_image_dropped;
    }
    if (image->facts.for_user) {
        return for_user;
    }
    if (request->images.blind) {
        return blind;
    }
    if (is_refused(request, image)) {
        return refused;
    }
    return is_gif && request->target->provider->refuses_gif ? no_gif : NULL;
}

/* Why the contents cannot be sent. */
static const char *find_fault(const ik_request_t *request, ik_wire_image_t *image)
{
    if (!image->checked) {
        check(request, image);
    }
    return image->animated && request->target->provider->refuses_animation ? no_animation
                                                                           : image->fault;
}

/* The message whose image left no room for this one in a request. */
static size_t find_successor(const ik_wire_t *wire, const ik_request_t *request, size_t index)
{
    size_t count = 0;
    uint64_t bytes = 0;
    for (size_t i = index; i < wire->image_count; i++) {
        const ik_wire_image_t *image = &wire->images[i];
        bool sent = find_reason(request, image) == NULL && image->fault == NULL;
        count += sent;
        bytes += sent ? ik_image_base64_length(image->facts.bytes) : 0;
        if (count > IK_WIRE_IMAGES_MAX || bytes > IK_WIRE_IMAGE_BYTES_MAX) {
            return image->message;
        }
    }
    return 0;
}

bool ik_wire_image_changed_before(const ik_wire_t *wire, size_t index)
{
    for (size_t i = 0; i < wire->image_count && wire->images[i].message < index; i++) {
        if (index < wire->images[i].refused_at || index < wire->images[i].left_out_at) {
            return true;
        }
    }
    return false;
}

bool ik_wire_image_plan(ik_wire_t *wire, const ik_request_t *request)
{
    const char *limit = NULL; /* the one that is reached: older images are left out */
    size_t sent = 0;
    uint64_t bytes = 0;
    bool changed = false;
    collect(wire, request->conversation);
    for (size_t i = wire->image_count; i > 0; i--) {
        ik_wire_image_t *image = &wire->images[i - 1];
        uint64_t len = ik_image_base64_length(image->facts.bytes);
        const char *why = find_reason(request, image);
        if (why == NULL && limit == NULL) { /* those beyond the limit are not read */
            why = find_fault(request, image);
        }
        if (why == NULL && limit == NULL) {
            limit = sent == IK_WIRE_IMAGES_MAX              ? too_many
                    : bytes + len > IK_WIRE_IMAGE_BYTES_MAX ? too_large
                                                            : NULL;
        }
        if (why == NULL && limit != NULL) {
            why = limit;
        } else if (why == NULL) {
            sent++;
            bytes += len;
        }
        image->left_out_at =
            limit != NULL && why == limit ? find_successor(wire, request, i - 1) : 0;
        changed = changed || (why != image->why && image->message < wire->done);
        image->why = why;
    }
    return changed;
}

/* --- writing ----------------------------------------------------------------------------- */

ik_wire_image_t *ik_wire_image_next(const ik_wire_t *wire, const ik_msg_t *message,
                                    size_t *position)
{
    const ik_conversation_t *conversation = wire->conversation;
    /* the images of the group are the last ones that were collected before its end */
    if (*position == 0) {
        *position = wire->group_images + 1;
    }
    for (; *position <= wire->image_count; (*position)++) {
        ik_wire_image_t *image = &wire->images[*position - 1];
        if (conversation->messages[image->message] == message) {
            (*position)++;
            return image;
        }
        if (image->message > wire->group_index[wire->group_count - 1]) {
            break;
        }
    }
    return NULL;
}

bool ik_wire_image_any_sent(const ik_wire_t *wire, const ik_msg_t *message)
{
    size_t position = 0;
    const ik_wire_image_t *image;
    while ((image = ik_wire_image_next(wire, message, &position)) != NULL) {
        if (image->why == NULL) {
            return true;
        }
    }
    return false;
}

bool ik_wire_image_append(ik_wire_t *wire, const ik_request_t *request, ik_wire_image_t *image,
                          const char *before, const char *after)
{
    ik_buffer_t *out = &wire->messages;
    char *bytes;
    size_t len;
    void *scratch = talloc_new(NULL);
    if (image->why == NULL && !read_bytes(request, scratch, image, &bytes, &len)) {
        image->why = image->fault = lost; /* it was there a moment ago */
    }
    if (image->why == NULL) {
        const char *type = strstr(before, "%s");
        ik_buffer_append(out, before, (size_t)(type - before));
        ik_buffer_append_text(out, image->facts.media_type);
        ik_buffer_append_text(out, type + 2);
        image->at = out->len;
        ik_base64_append(out, bytes, len);
        ik_buffer_append_text(out, after);
    }
    talloc_free(scratch);
    return image->why == NULL;
}

void ik_wire_image_append_marker(ik_buffer_t *out, const ik_wire_image_t *image)
{
    char *marker = ik_msg_image_marker(NULL, &image->facts, image->why);
    ik_words_append(out, marker);
    talloc_free(marker);
}

void ik_wire_image_append_markers(const ik_wire_t *wire, ik_buffer_t *out, const ik_msg_t *message,
                                  const char *before)
{
    size_t position = 0;
    const ik_wire_image_t *image;
    while ((image = ik_wire_image_next(wire, message, &position)) != NULL) {
        if (image->why != NULL) {
            ik_buffer_append_text(out, before);
            ik_wire_image_append_marker(out, image);
            before = "\\n";
        }
    }
}

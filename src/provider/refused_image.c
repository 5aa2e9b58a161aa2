#include "provider/refused_image.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "provider/wire_image.h"

/* One step of a place: an index, or a name. */
typedef struct {
    const char *name;
    size_t len;
    long index; /* -1: it is a name */
} part_t;

/* Reads "[3]", ".3" or ".name" and moves *at behind it. */
static bool read_part(const char **at, part_t *part)
{
    enum { DIGITS_MAX = 6 };
    const char *begin = *at;
    bool bracket = *begin == '[';
    if (*begin != '[' && *begin != '.') {
        return false;
    }
    begin++;
    *part = (part_t){.name = begin, .index = -1};
    while (isalnum((unsigned char)begin[part->len]) || begin[part->len] == '_') {
        part->len++;
    }
    bool number = isdigit((unsigned char)*begin);
    if (part->len == 0 || (number && part->len > DIGITS_MAX)) {
        return false;
    }
    if (number) {
        part->index = strtol(begin, NULL, 10);
    }
    *at = begin + part->len + (bracket && begin[part->len] == ']');
    return true;
}

/* Follows one step of a place. Vendors write names of types among those of members ("tool_result",
 * "image"): a name that is no member leads nowhere and is passed over. */
static bool follow(ik_json_span_t *value, const part_t *part)
{
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t next;
    if (part->index >= 0) {
        long index = part->index;
        if (ik_json_kind(*value) != IK_JSON_ARRAY) {
            return false;
        }
        while (ik_json_next_element(*value, &position, &next)) {
            if (index-- == 0) {
                *value = next;
                return true;
            }
        }
        return false;
    }
    if (ik_json_kind(*value) == IK_JSON_OBJECT) {
        while (ik_json_next_member(*value, &position, &key, &next)) {
            if (key.len == part->len + 2 && memcmp(key.text + 1, part->name, part->len) == 0) {
                *value = next;
                break;
            }
        }
    }
    return true;
}

/* Finds the value at the place that text names after the name of the list of messages. Only a place
 * with an index inside a message tells one image from another. */
static bool find_place(const char *text, ik_json_span_t body, ik_json_span_t *found)
{
    static const char *const lists[] = {"messages", "input", "contents"};
    for (size_t i = 0; i < IK_LENGTH(lists); i++) {
        ik_json_span_t list;
        if (!ik_json_find_kind(body, lists[i], IK_JSON_ARRAY, &list)) {
            continue;
        }
        for (const char *at = text; (at = strstr(at, lists[i])) != NULL;) {
            part_t part;
            ik_json_span_t value = list;
            at += strlen(lists[i]);
            size_t indexes = 0;
            while (read_part(&at, &part) && follow(&value, &part)) {
                indexes += part.index >= 0;
            }
            if (indexes > 0) {
                *found = value;
                return true;
            }
        }
    }
    return false;
}

size_t ik_refused_image_find(const void *ctx, const ik_wire_t *wire, const char *text,
                             const ik_msg_image_t **images)
{
    ik_buffer_t body; /* as it was sent, but for the marks of the cache, which move no index */
    ik_json_span_t value;
    ik_json_span_t place;
    ik_buffer_init(&body, NULL, IK_BUFFER_UNLIMITED); /* bounded by the request */
    ik_buffer_append(&body, wire->head.data, wire->head.len);
    ik_buffer_append(&body, wire->messages.data, wire->messages.len);
    ik_buffer_append_text(&body, "]}");
    bool placed = wire->image_count > 0 && ik_json_scan(body.data, body.len, &value, NULL) &&
                  find_place(text, value, &place);
    size_t begin = placed ? (size_t)(place.text - body.data) - wire->head.len : 0;
    ik_msg_image_t *all = ik_new_array(ctx, ik_msg_image_t, wire->image_count + 1);
    ik_msg_image_t *named = ik_new_array(ctx, ik_msg_image_t, wire->image_count + 1);
    size_t count = 0;
    size_t named_count = 0;
    for (size_t i = 0; i < wire->image_count; i++) {
        const ik_wire_image_t *image = &wire->images[i];
        if (image->why != NULL) {
            continue;
        }
        all[count++] = image->facts;
        if (placed && image->at >= begin && image->at < begin + place.len) {
            named[named_count++] = image->facts;
        }
    }
    ik_buffer_reset(&body);
    *images = named_count > 0 ? named : all;
    return named_count > 0 ? named_count : count;
}

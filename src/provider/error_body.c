#include "provider/error_body.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"

enum { NESTING_MAX = 4 }; /* of messages inside messages */

typedef struct {
    const void *ctx;
    ik_error_body_t *body;
} reader_t;

/* NULL when there is no such string or it is empty. */
static char *find_text(const void *ctx, ik_json_span_t object, const char *name)
{
    ik_json_span_t value;
    if (!ik_json_find_kind(object, name, IK_JSON_STRING, &value)) {
        return NULL;
    }
    char *text = ik_json_decode(ctx, value, NULL);
    return *text == '\0' ? NULL : text;
}

/* Notes a name; the first becomes the code. */
static void add_name(reader_t *reader, const char *name)
{
    ik_error_body_t *body = reader->body;
    if (name == NULL) {
        return;
    }
    body->code = body->code == NULL ? name : body->code;
    if (body->name_count < IK_ERROR_BODY_NAMES_MAX) {
        body->names[body->name_count++] = name;
    }
}

/* --- messages ---------------------------------------------------------------------------- */

/* ["body","messages",1,"reasoning_content"] -> messages.reasoning_content, and
 * ["body","tools",3,"function"] -> tools[3].function: the index tells which tool to leave out. */
static char *join_location(const void *ctx, ik_json_span_t location)
{
    ik_buffer_t joined;
    ik_buffer_init(&joined, ctx, IK_BUFFER_UNLIMITED); /* bounded by the body */
    size_t position = 0;
    ik_json_span_t part;
    while (ik_json_next_element(location, &position, &part)) {
        if (ik_json_kind(part) == IK_JSON_STRING && !ik_json_key_is(part, "body")) {
            ik_buffer_append_text(&joined, joined.len == 0 ? "" : ".");
            ik_json_append_decoded(&joined, part);
        } else if (ik_json_kind(part) == IK_JSON_NUMBER && joined.len == strlen("tools") &&
                   memcmp(joined.data, "tools", joined.len) == 0) {
            ik_buffer_append_format(&joined, "[%.*s]", (int)part.len, part.text);
        }
    }
    return joined.len == 0 ? NULL : ik_buffer_finish(&joined);
}

/* {"type":"extra_forbidden","loc":["body","store"],"msg":"Extra inputs are not permitted"} */
static void read_complaint(reader_t *reader, ik_json_span_t complaint)
{
    ik_error_body_t *body = reader->body;
    ik_json_span_t location;
    body->message = find_text(reader->ctx, complaint, "msg");
    if (body->message == NULL) {
        return;
    }
    add_name(reader, find_text(reader->ctx, complaint, "type"));
    if (ik_json_find_kind(complaint, "loc", IK_JSON_ARRAY, &location)) {
        body->param = join_location(reader->ctx, location);
    }
    if (body->param != NULL) {
        body->message = ik_sprintf(reader->ctx, "%s: %s", body->param, body->message);
    }
}

/* A message is a string, or is inside an object or the first element of an array. */
static void read_message(reader_t *reader, ik_json_span_t value, int depth)
{
    static const char *const members[] = {"message", "detail", "error", NULL};
    size_t position = 0;
    ik_json_span_t inner;
    if (ik_json_kind(value) == IK_JSON_STRING) {
        const char *text = ik_json_decode(reader->ctx, value, NULL);
        reader->body->message = *text == '\0' ? NULL : text;
    } else if (ik_json_kind(value) == IK_JSON_ARRAY && depth < NESTING_MAX) {
        if (ik_json_next_element(value, &position, &inner)) {
            read_message(reader, inner, depth + 1);
        }
    } else if (ik_json_kind(value) == IK_JSON_OBJECT && depth < NESTING_MAX) {
        read_complaint(reader, value);
        for (size_t i = 0; members[i] != NULL && reader->body->message == NULL; i++) {
            if (ik_json_find(value, members[i], &inner)) {
                read_message(reader, inner, depth + 1);
            }
        }
    }
}

/* A router's own message is vague; the message of the server behind it is in "raw". */
static void add_raw(reader_t *reader, ik_json_span_t object)
{
    ik_json_span_t metadata;
    const char *raw = NULL;
    if (ik_json_find_kind(object, "metadata", IK_JSON_OBJECT, &metadata)) {
        raw = find_text(reader->ctx, metadata, "raw");
    }
    if (raw != NULL && reader->body->message != NULL) {
        reader->body->message = ik_sprintf(reader->ctx, "%s: %s", reader->body->message, raw);
    }
}

/* --- details ----------------------------------------------------------------------------- */

static void read_violations(reader_t *reader, ik_json_span_t detail)
{
    static const char *const members[] = {"quotaId", "quotaMetric", NULL};
    size_t position = 0;
    ik_json_span_t list;
    ik_json_span_t violation;
    if (!ik_json_find_kind(detail, "violations", IK_JSON_ARRAY, &list)) {
        return;
    }
    while (ik_json_next_element(list, &position, &violation)) {
        for (size_t i = 0; members[i] != NULL; i++) {
            const char *quota = find_text(reader->ctx, violation, members[i]);
            if (quota != NULL && (strcasestr(quota, "PerDay") || strcasestr(quota, "per_day"))) {
                reader->body->per_day = true;
            }
        }
    }
}

static void read_details(reader_t *reader, ik_json_span_t object)
{
    size_t position = 0;
    ik_json_span_t details;
    ik_json_span_t detail;
    if (!ik_json_find_kind(object, "details", IK_JSON_ARRAY, &details)) {
        return;
    }
    while (ik_json_next_element(details, &position, &detail)) {
        const char *delay = find_text(reader->ctx, detail, "retryDelay");
        if (delay != NULL) {
            reader->body->retry_delay = delay;
        }
        add_name(reader, find_text(reader->ctx, detail, "reason"));
        read_violations(reader, detail);
    }
}

/* --- the object -------------------------------------------------------------------------- */

/* Read last, because a number becomes the code only when there is no name. */
static void read_number(reader_t *reader, ik_json_span_t object)
{
    static const char *const members[] = {"code", "status", "status_code", NULL};
    ik_json_span_t value;
    for (size_t i = 0; members[i] != NULL; i++) {
        if (ik_json_find_kind(object, members[i], IK_JSON_NUMBER, &value)) {
            long number = strtol(value.text, NULL, 10);
            if (number >= 300 && number <= 599) {
                reader->body->status = (int)number;
            }
            add_name(reader, ik_strndup(reader->ctx, value.text, value.len));
        }
    }
}

static void read_names(reader_t *reader, ik_json_span_t object)
{
    ik_json_span_t details;
    if (ik_json_find_kind(object, "details", IK_JSON_OBJECT, &details)) {
        add_name(reader, find_text(reader->ctx, details, "error_code"));
    }
    add_name(reader, find_text(reader->ctx, object, "code"));
    add_name(reader, find_text(reader->ctx, object, "status"));
    const char *type = find_text(reader->ctx, object, "type");
    if (type != NULL && strcmp(type, "error") != 0) { /* "error" is the event's type */
        add_name(reader, type);
    }
}

/* Unwraps [ ] and "error". */
static ik_json_span_t find_object(ik_json_span_t value)
{
    size_t position = 0;
    ik_json_span_t inner;
    if (ik_json_kind(value) == IK_JSON_ARRAY && ik_json_next_element(value, &position, &inner)) {
        value = inner;
    }
    return ik_json_find_kind(value, "error", IK_JSON_OBJECT, &inner) ? inner : value;
}

void ik_error_body_read(const void *ctx, ik_json_span_t value, ik_error_body_t *body)
{
    reader_t reader = {.ctx = ctx, .body = body};
    ik_json_span_t object = find_object(value);
    ik_json_span_t headers;
    *body = (ik_error_body_t){0};
    read_names(&reader, object);
    read_details(&reader, object);
    read_message(&reader, object, 0);
    add_raw(&reader, object);
    read_number(&reader, object);
    const char *param = find_text(ctx, object, "param");
    body->param = param != NULL ? param : body->param;
    if (ik_json_find_kind(object, "headers", IK_JSON_OBJECT, &headers)) {
        body->headers = headers;
    }
}

bool ik_error_body_has_name(const ik_error_body_t *body, const char *name)
{
    for (size_t i = 0; i < body->name_count; i++) {
        if (strcasecmp(body->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

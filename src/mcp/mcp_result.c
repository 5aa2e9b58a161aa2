#include "mcp/mcp_result.h"

#include <string.h>

#include "base/alloc.h"

typedef struct {
    ik_buffer_t text;
    ik_buffer_t images; /* elements of an array */
    size_t blocks;
    bool for_user; /* the current block names the user as its only audience */
} content_t;

/* Every block begins on a line of its own. */
static void begin_block(content_t *content)
{
    if (content->text.len > 0) {
        ik_buffer_append_byte(&content->text, '\n');
    }
}

static void append_member(ik_buffer_t *out, ik_json_span_t object, const char *name,
                          const char *otherwise)
{
    ik_json_span_t value;
    if (ik_json_find_kind(object, name, IK_JSON_STRING, &value)) {
        ik_json_append_decoded(out, value);
    } else {
        ik_buffer_append_text(out, otherwise);
    }
}

/* What cannot be shown: "[audio, audio/wav, 12 bytes]". */
static void add_note(content_t *content, const char *what, ik_json_span_t holder, const char *uri,
                     ik_json_span_t data)
{
    ik_json_span_t found;
    begin_block(content);
    ik_buffer_append_format(&content->text, "[%s", what);
    if (uri != NULL && ik_json_find_kind(holder, uri, IK_JSON_STRING, &found)) {
        ik_buffer_append_byte(&content->text, ' ');
        ik_json_append_decoded(&content->text, found);
    }
    if (ik_json_find_kind(holder, "mimeType", IK_JSON_STRING, &found)) {
        ik_buffer_append_text(&content->text, ", ");
        ik_json_append_decoded(&content->text, found);
    }
    if (data.len > 2) {
        ik_buffer_append_format(&content->text, ", %zu bytes", (data.len - 2) / 4 * 3);
    }
    ik_buffer_append_byte(&content->text, ']');
}

static void add_image(content_t *content, ik_json_span_t data, ik_json_span_t type)
{
    ik_buffer_append_text(&content->images, content->images.len == 0 ? "" : ",");
    ik_buffer_append_text(&content->images, "{\"data\":");
    ik_buffer_append(&content->images, data.text, data.len);
    if (ik_json_is(type, IK_JSON_STRING)) {
        ik_buffer_append_text(&content->images, ",\"media_type\":");
        ik_buffer_append(&content->images, type.text, type.len);
    }
    ik_buffer_append_text(&content->images, content->for_user ? ",\"audience\":\"user\"}" : "}");
}

static bool is_image_type(ik_json_span_t type)
{
    return ik_json_is(type, IK_JSON_STRING) && type.len > 8 &&
           strncmp(type.text, "\"image/", 7) == 0;
}

/* An embedded resource: its text, its image, or a note. */
static void add_resource(content_t *content, ik_json_span_t resource)
{
    enum { TEXT, BLOB, TYPE, MEMBERS };
    static const char *const names[MEMBERS] = {"text", "blob", "mimeType"};
    ik_json_span_t at[MEMBERS];
    ik_json_find_members(resource, names, MEMBERS, at);
    if (ik_json_is(at[TEXT], IK_JSON_STRING)) {
        begin_block(content);
        ik_json_append_decoded(&content->text, at[TEXT]);
    } else if (ik_json_is(at[BLOB], IK_JSON_STRING) && is_image_type(at[TYPE])) {
        add_image(content, at[BLOB], at[TYPE]);
    } else {
        add_note(content, "binary resource", resource, "uri", at[BLOB]);
    }
}

/* Whether annotations, which may be missing, name the user as the only audience. */
static bool is_for_user(ik_json_span_t annotations)
{
    ik_json_span_t audience;
    ik_json_span_t each;
    size_t position = 0;
    size_t count = 0;
    if (!ik_json_find_kind(annotations, "audience", IK_JSON_ARRAY, &audience)) {
        return false;
    }
    for (; ik_json_next_element(audience, &position, &each); count++) {
        if (!ik_json_is_text(each, "user")) {
            return false;
        }
    }
    return count > 0;
}

/* Returns why a block is not valid, or NULL. */
static const char *add_block(content_t *content, ik_json_span_t block)
{
    enum { TYPE, TEXT, DATA, MIME, RESOURCE, ANNOTATIONS, MEMBERS };
    static const char *const names[MEMBERS] = {"type",     "text",     "data",
                                               "mimeType", "resource", "annotations"};
    ik_json_span_t at[MEMBERS];
    ik_json_find_members(block, names, MEMBERS, at);
    content->blocks++;
    content->for_user = is_for_user(at[ANNOTATIONS]);
    if (!ik_json_is(at[TYPE], IK_JSON_STRING)) {
        return "a part of its content has no type";
    }
    if (ik_json_is_text(at[TYPE], "text")) {
        if (!ik_json_is(at[TEXT], IK_JSON_STRING)) {
            return "a text of its content is not a string";
        }
        begin_block(content);
        ik_json_append_decoded(&content->text, at[TEXT]);
    } else if (ik_json_is_text(at[TYPE], "image")) {
        if (!ik_json_is(at[DATA], IK_JSON_STRING)) {
            return "an image of its content has no data";
        }
        add_image(content, at[DATA], at[MIME]);
    } else if (ik_json_is_text(at[TYPE], "resource_link")) {
        begin_block(content);
        append_member(&content->text, block, "name", "resource");
        ik_buffer_append_text(&content->text, ": ");
        append_member(&content->text, block, "uri", "");
    } else if (ik_json_is_text(at[TYPE], "resource") && ik_json_is(at[RESOURCE], IK_JSON_OBJECT)) {
        add_resource(content, at[RESOURCE]);
    } else if (ik_json_is_text(at[TYPE], "audio")) {
        add_note(content, "audio", block, NULL, at[DATA]);
    } else {
        begin_block(content);
        ik_buffer_append_text(&content->text, "[content of type ");
        ik_json_append_decoded(&content->text, at[TYPE]);
        ik_buffer_append_byte(&content->text, ']');
    }
    return NULL;
}

/* Whether the text is the same JSON as the structured content. */
static bool is_same_json(const ik_buffer_t *text, ik_json_span_t structured)
{
    json_t *a = ik_json_parse(text->data, text->len, NULL);
    json_t *b = a == NULL ? NULL : ik_json_parse(structured.text, structured.len, NULL);
    bool same = a != NULL && b != NULL && json_equal(a, b);
    json_decref(a);
    json_decref(b);
    return same;
}

static void append_images(ik_buffer_t *out, const content_t *content)
{
    if (content->images.len > 0) {
        ik_buffer_append_text(out, ",\"images\":[");
        ik_buffer_append(out, content->images.data, content->images.len);
        ik_buffer_append_byte(out, ']');
    }
}

static char *format_error(const void *ctx, const content_t *content)
{
    const ik_buffer_t *text = &content->text;
    static const char silent[] = "The tool failed and gave no reason";
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the message */
    ik_buffer_append_text(&out, "{\"error\":");
    ik_json_append_string(&out, text->len == 0 ? silent : text->data,
                          text->len == 0 ? strlen(silent) : text->len);
    ik_buffer_append_text(&out, ",\"error_code\":\"" IK_MCP_TOOL_ERROR "\"");
    append_images(&out, content);
    ik_buffer_append_byte(&out, '}');
    return ik_buffer_finish(&out);
}

static char *format_output(const void *ctx, const content_t *content, ik_json_span_t structured)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the message */
    bool alone = content->blocks == 0;
    ik_buffer_append_text(&out, "{\"output\":");
    if (alone) {
        ik_json_append_string(&out, structured.text, structured.len);
    } else {
        ik_json_append_string(&out, content->text.data, content->text.len);
    }
    if (!alone && structured.len > 0 && !is_same_json(&content->text, structured)) {
        ik_buffer_append_text(&out, ",\"structured\":");
        ik_buffer_append(&out, structured.text, structured.len);
    }
    append_images(&out, content);
    ik_buffer_append_byte(&out, '}');
    return ik_buffer_finish(&out);
}

char *ik_mcp_result_format(const void *ctx, ik_json_span_t result, const char **reason)
{
    enum { CONTENT, STRUCTURED, IS_ERROR, MEMBERS };
    static const char *const names[MEMBERS] = {"content", "structuredContent", "isError"};
    ik_json_span_t at[MEMBERS];
    void *scratch = talloc_new(NULL);
    content_t content;
    *reason = NULL;
    content.blocks = 0;
    ik_buffer_init(&content.text, scratch, IK_BUFFER_UNLIMITED);   /* bounded by the message */
    ik_buffer_init(&content.images, scratch, IK_BUFFER_UNLIMITED); /* bounded by the message */
    ik_buffer_append_text(&content.text, "");
    ik_json_find_members(result, names, MEMBERS, at);
    size_t position = 0;
    ik_json_span_t block;
    if (!ik_json_is(result, IK_JSON_OBJECT)) {
        *reason = "it is not an object";
    } else if (at[CONTENT].len > 0 && ik_json_kind(at[CONTENT]) != IK_JSON_ARRAY) {
        *reason = "its content is not a list";
    } else if (at[CONTENT].len == 0 && at[STRUCTURED].len == 0) {
        *reason = "it has no content";
    }
    while (*reason == NULL && at[CONTENT].len > 0 &&
           ik_json_next_element(at[CONTENT], &position, &block)) {
        *reason = add_block(&content, block);
    }
    bool failed = ik_json_is(at[IS_ERROR], IK_JSON_BOOLEAN) && at[IS_ERROR].text[0] == 't';
    if (failed && content.blocks == 0 && at[STRUCTURED].len > 0) {
        ik_buffer_append(&content.text, at[STRUCTURED].text, at[STRUCTURED].len);
    }
    if (content.blocks == 0 && at[STRUCTURED].len == 0) {
        content.blocks = 1; /* an empty list is an empty text */
    }
    char *formatted = *reason != NULL ? NULL
                      : failed        ? format_error(ctx, &content)
                                      : format_output(ctx, &content, at[STRUCTURED]);
    talloc_free(scratch);
    return formatted;
}

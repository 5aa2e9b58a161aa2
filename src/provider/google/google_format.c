/* Requests to Gemini's generateContent. The body is proto3 JSON, where an unknown name makes the
 * server refuse the whole request; fields that are not needed are therefore left out. */
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/url_encode.h"
#include "base/url_host.h"
#include "provider/blocks.h"
#include "provider/google/google_schema.h"
#include "provider/google/google_stream.h"
#include "provider/words.h"

/* Sent with a call that Gemini did not make, in place of the signature that its own calls have. */
#define NO_SIGNATURE ",\"thoughtSignature\":\"skip_thought_signature_validator\""

static const ik_json_span_t unknown = {"\"unknown\"", 9};

/* --- where to ---------------------------------------------------------------------------- */

/* The model's name without the prefix "models/", which lists of models add. */
static const char *model_name(const ik_request_t *request)
{
    static const char prefix[] = "models/";
    const char *name = request->target->model;
    return strncmp(name, prefix, sizeof(prefix) - 1) == 0 ? name + sizeof(prefix) - 1 : name;
}

static char *format_url(const void *ctx, const ik_request_t *request)
{
    ik_buffer_t path;
    ik_buffer_init(&path, NULL, IK_BUFFER_UNLIMITED); /* bounded by the model's name */
    ik_buffer_append_text(&path, "/v1beta/models/");
    ik_url_encode(&path, model_name(request), "");
    ik_buffer_append_text(&path, ":streamGenerateContent?alt=sse");
    char *url = ik_url_host_append(ctx, request->target->config->base_url, path.data);
    ik_buffer_reset(&path);
    return url;
}

static char **format_headers(const void *ctx, const ik_request_t *request)
{
    const char *key = request->target->config->api_key;
    char **headers = ik_new_array(ctx, char *, 3);
    headers[0] = ik_strdup(headers, "content-type: application/json");
    headers[1] = key == NULL ? NULL : ik_sprintf(headers, "x-goog-api-key: %s", key);
    return headers;
}

/* --- tools ------------------------------------------------------------------------------- */

/* Older models and compatible servers know only key, which takes a subset of JSON Schema, so it is
 * used wherever the subset can express the schema. */
static void append_schema(ik_buffer_t *out, const ik_request_t *request, json_t *schema,
                          const char *key, const char *json_schema_key)
{
    bool exact;
    json_t *converted = ik_google_schema_convert(schema, &exact);
    bool plain = exact || !ik_request_may_send(request, IK_FIELD_JSON_SCHEMA) ||
                 !ik_google_schema_is_honoured(schema);
    char *text = ik_json_format(NULL, plain ? converted : schema);
    ik_buffer_append_format(out, ",\"%s\":", plain ? key : json_schema_key);
    ik_buffer_append_text(out, text);
    talloc_free(text);
    json_decref(converted);
}

static void append_declaration(ik_buffer_t *out, const ik_request_t *request,
                               const ik_request_tool_t *tool)
{
    ik_buffer_append_text(out, "{\"name\":");
    ik_json_append_text(out, tool->name);
    if (tool->description != NULL && tool->description[0] != '\0') {
        ik_buffer_append_text(out, ",\"description\":");
        ik_json_append_text(out, tool->description);
    }
    if (ik_google_schema_has_members(tool->parameters)) {
        append_schema(out, request, tool->parameters, "parameters", "parametersJsonSchema");
    }
    if (tool->returns != NULL) {
        append_schema(out, request, tool->returns, "response", "responseJsonSchema");
    }
    ik_buffer_append_byte(out, '}');
}

static void format_tools(ik_buffer_t *out, const ik_request_t *request)
{
    if (request->tool_count == 0) {
        return;
    }
    ik_buffer_append_text(out, "[{\"functionDeclarations\":[");
    for (size_t i = 0; i < request->tool_count; i++) {
        ik_buffer_append_text(out, i == 0 ? "" : ",");
        append_declaration(out, request, &request->tools[i]);
    }
    ik_buffer_append_text(out, "]}]");
}

/* --- head -------------------------------------------------------------------------------- */

typedef struct {
    const char *effort;
    const char *level;
    int budget; /* tokens */
} thinking_t;

/* NULL when no effort is chosen, or one that is unknown here. */
static const thinking_t *find_thinking(const ik_request_t *request)
{
    static const thinking_t known[] = {
        {"none", "MINIMAL", 0},     {"minimal", "MINIMAL", 512}, {"low", "LOW", 2048},
        {"medium", "MEDIUM", 8192}, {"high", "HIGH", 24576},     {"xhigh", "HIGH", 24576},
        {"max", "HIGH", 24576},
    };
    for (size_t i = 0; request->effort != NULL && i < IK_LENGTH(known); i++) {
        if (strcmp(request->effort, known[i].effort) == 0) {
            return &known[i];
        }
    }
    return NULL;
}

static void append_thinking(ik_buffer_t *out, const ik_request_t *request)
{
    const thinking_t *wanted =
        ik_request_may_send(request, IK_FIELD_EFFORT) ? find_thinking(request) : NULL;
    bool by_level = request->target->facts->thinking == IK_MODEL_THINKING_LEVEL;
    if (wanted != NULL && !by_level && wanted->budget == 0) {
        /* Thoughts are refused where thinking is off. */
        ik_buffer_append_text(out, "\"thinkingConfig\":{\"thinkingBudget\":0}");
        return;
    }
    ik_buffer_append_text(out, "\"thinkingConfig\":{\"includeThoughts\":true");
    if (wanted != NULL && by_level) {
        ik_buffer_append_format(out, ",\"thinkingLevel\":\"%s\"", wanted->level);
    } else if (wanted != NULL) {
        ik_buffer_append_format(out, ",\"thinkingBudget\":%d", wanted->budget);
    }
    ik_buffer_append_byte(out, '}');
}

static void append_generation(ik_buffer_t *out, const ik_request_t *request)
{
    bool limited = request->max_output_tokens > 0;
    ik_model_thinking_t thinking = request->target->facts->thinking;
    bool thinks = ik_request_may_send(request, IK_FIELD_THINKING) &&
                  (thinking == IK_MODEL_THINKING_LEVEL || thinking == IK_MODEL_THINKING_BUDGET);
    if (!limited && !thinks) {
        return;
    }
    ik_buffer_append_text(out, "\"generationConfig\":{");
    if (limited) {
        ik_buffer_append_format(out, "\"maxOutputTokens\":%ld%s", request->max_output_tokens,
                                thinks ? "," : "");
    }
    if (thinks) {
        append_thinking(out, request);
    }
    ik_buffer_append_text(out, "},");
}

static void append_tools(ik_buffer_t *out, const ik_request_t *request, ik_json_span_t tools)
{
    if (tools.len == 0) {
        return;
    }
    ik_buffer_append_text(out, "\"tools\":");
    ik_buffer_append(out, tools.text, tools.len);
    ik_buffer_append_byte(out, ',');
    if (ik_request_may_send(request, IK_FIELD_TOOL_CHOICE)) {
        ik_buffer_append_format(out,
                                "\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"%s\"}},",
                                request->forbid_tools ? "NONE" : "AUTO");
    }
}

static void format_head(ik_buffer_t *out, const ik_request_t *request, ik_json_span_t tools)
{
    ik_buffer_append_byte(out, '{');
    if (request->system != NULL && request->system[0] != '\0') {
        ik_buffer_append_text(out, "\"systemInstruction\":{\"parts\":[{\"text\":");
        ik_json_append_text(out, request->system);
        ik_buffer_append_text(out, "}]},");
    }
    append_tools(out, request, tools);
    append_generation(out, request);
    if (request->continuation != NULL) {
        ik_buffer_append_text(out, "\"continuationToken\":");
        ik_json_append_text(out, request->continuation);
        ik_buffer_append_byte(out, ',');
    }
    ik_buffer_append_text(out, "\"contents\":[");
}

/* --- contents ---------------------------------------------------------------------------- */

static void append_text(ik_blocks_t *blocks, const ik_msg_t *message)
{
    if (message->content != NULL && message->content[0] != '\0') {
        ik_buffer_t *out = ik_blocks_begin(blocks);
        ik_buffer_append_text(out, "{\"text\":\"");
        ik_words_append(out, message->content);
        ik_buffer_append_text(out, "\"}");
    }
}

/* Appends {"id":…,"name":…, with the comma. An id goes back only to the provider that gave it. */
static void begin_function(const ik_blocks_t *blocks, const ik_msg_t *message, ik_json_span_t name)
{
    ik_buffer_t *out = blocks->out;
    ik_buffer_append_byte(out, '{');
    if (ik_wire_is_own_id(blocks->request, message)) {
        ik_buffer_append_text(out, "\"id\":");
        ik_wire_append_id(out, blocks->request, message, false);
        ik_buffer_append_byte(out, ',');
    }
    ik_buffer_append_text(out, "\"name\":");
    ik_buffer_append(out, name.text, name.len);
    ik_buffer_append_byte(out, ',');
}

static const char IMAGE[] = "{\"inlineData\":{\"mimeType\":\"%s\",\"data\":\"";

static void append_marker(ik_buffer_t *out, const ik_wire_image_t *image)
{
    ik_buffer_append_text(out, "{\"text\":\"");
    ik_wire_image_append_marker(out, image);
    ik_buffer_append_text(out, "\"}");
}

static void append_image(ik_blocks_t *blocks, ik_wire_image_t *image)
{
    ik_buffer_t *out = ik_blocks_begin(blocks);
    if (!ik_wire_image_append(blocks->wire, blocks->request, image, IMAGE, "\"}}")) {
        append_marker(out, image);
    }
}

/* Models before Gemini 3. */
static bool is_older(const ik_request_t *request)
{
    const char *model = model_name(request);
    return strncmp(model, "gemini-1", 8) == 0 || strncmp(model, "gemini-2", 8) == 0;
}

/* The response is an object, so the markers of images that are not sent become a member of it. */
static void append_response(ik_blocks_t *blocks, ik_buffer_t *out, const ik_msg_t *result)
{
    ik_buffer_t markers;
    ik_buffer_init(&markers, NULL, IK_BUFFER_UNLIMITED); /* a line per image */
    ik_wire_image_append_markers(blocks->wire, &markers, result, "");
    ik_wire_append_output(blocks->wire, blocks->request, out, result);
    if (markers.len > 0) {
        out->len = (size_t)((char *)memrchr(out->data, '}', out->len) - out->data);
        while (strchr(" \t\r\n", out->data[out->len - 1]) != NULL) {
            out->len--;
        }
        ik_buffer_append_text(out, out->data[out->len - 1] == '{' ? "" : ",");
        ik_buffer_append_text(out, "\"images_left_out\":\"");
        ik_buffer_append(out, markers.data, markers.len);
        ik_buffer_append_text(out, "\"}");
    }
    ik_buffer_reset(&markers);
}

/* Appends the images of a result that are sent: from Gemini 3 on inside its functionResponse, as
 * the member parts, before that as parts of the message. */
static void append_result_images(ik_blocks_t *blocks, const ik_msg_t *result)
{
    bool older = is_older(blocks->request);
    size_t position = 0;
    const char *before = older ? "," : ",\"parts\":[";
    ik_buffer_t *out = blocks->out;
    ik_wire_image_t *image;
    while ((image = ik_wire_image_next(blocks->wire, result, &position)) != NULL) {
        if (image->why != NULL) {
            continue; /* its marker is in the response */
        }
        ik_buffer_append_text(out, before);
        before = ",";
        if (!ik_wire_image_append(blocks->wire, blocks->request, image, IMAGE, "\"}}")) {
            append_marker(out, image);
        }
    }
}

static void append_result(ik_blocks_t *blocks, const ik_msg_t *result)
{
    ik_buffer_t *out = ik_blocks_begin(blocks);
    ik_json_span_t name;
    bool images = ik_wire_image_any_sent(blocks->wire, result);
    if (!ik_msg_field(result, "name", &name) || ik_json_kind(name) != IK_JSON_STRING) {
        name = unknown;
    }
    ik_buffer_append_text(out, "{\"functionResponse\":");
    begin_function(blocks, result, name);
    ik_buffer_append_text(out, "\"response\":");
    append_response(blocks, out, result);
    if (images && !is_older(blocks->request)) {
        append_result_images(blocks, result);
        ik_buffer_append_byte(out, ']');
    }
    ik_buffer_append_text(out, "}}");
    if (images && is_older(blocks->request)) {
        append_result_images(blocks, result);
    }
}

static bool is_call(ik_json_span_t part)
{
    ik_json_span_t call;
    return ik_json_find(part, "functionCall", &call);
}

/* Signed parts and thoughts must not be changed. */
static bool is_words(ik_json_span_t part)
{
    static const char *const names[] = {"text", "thought", "thoughtSignature"};
    ik_json_span_t values[3];
    ik_json_find_members(part, names, 3, values);
    return values[0].len > 0 && values[1].len == 0 && values[2].len == 0;
}

/* From Gemini 3 on, the first call of a step must be signed. */
static bool lacks_signature(const ik_request_t *request, ik_json_span_t placeholder)
{
    ik_json_span_t signature;
    return !is_older(request) &&
           (placeholder.len == 0 || !ik_json_find(placeholder, "thoughtSignature", &signature));
}

static void append_call(ik_blocks_t *blocks, const ik_msg_t *call, ik_json_span_t placeholder,
                        bool first)
{
    static const char *const own[] = {"functionCall", NULL};
    ik_buffer_t *out = ik_blocks_begin(blocks);
    ik_json_span_t name;
    if (!ik_msg_call_field(call, "name", &name)) {
        name = unknown;
    }
    ik_buffer_append_text(out, "{\"functionCall\":");
    begin_function(blocks, call, name);
    ik_buffer_append_text(out, "\"args\":");
    ik_wire_append_arguments(out, call);
    ik_buffer_append_byte(out, '}');
    ik_blocks_append_members(out, placeholder, own);
    if (first && lacks_signature(blocks->request, placeholder)) {
        ik_buffer_append_text(out, NO_SIGNATURE);
    }
    ik_buffer_append_byte(out, '}');
}

static const ik_blocks_format_t blocks_format = {
    .user = "{\"role\":\"user\",\"parts\":[",
    .model = "{\"role\":\"model\",\"parts\":[",
    .is_call = is_call,
    .is_words = is_words,
    .append_text = append_text,
    .append_image = append_image,
    .append_result = append_result,
    .append_call = append_call,
};

static void format_group(ik_wire_t *wire, const ik_request_t *request, ik_msg_t *const *messages,
                         size_t count)
{
    ik_blocks_format_group(&blocks_format, wire, request, messages, count);
}

const ik_provider_t ik_provider_google = {
    .name = "google",
    .takes_any_id = true,
    .private_has_ids = true,
    .refuses_gif = true,
    .signs_calls = true,
    .format_url = format_url,
    .format_headers = format_headers,
    .format_tools = format_tools,
    .format_head = format_head,
    .format_group = format_group,
    .stream_begin = ik_google_stream_begin,
    .stream_event = ik_google_stream_event,
    .stream_end = ik_google_stream_end,
};

/*
 * Reads a conversation as JSON from stdin and prints the request that is sent for it (README.md):
 *
 *   request_driver < case.json
 *
 * With "turns": true the conversation grows as in an agent: each group of the user's side makes a
 * request over the same ik_wire_t, and all bodies are printed.
 */
#include "base/base64.h"
#include "driver.h"
#include "provider/openai/openai_schema.h"
#include "provider/wire.h"

static const char *text_of(json_t *object, const char *name, const char *fallback)
{
    json_t *value = json_object_get(object, name);
    return json_is_string(value) ? json_string_value(value) : fallback;
}

static long number_of(json_t *object, const char *name)
{
    return (long)json_integer_value(json_object_get(object, name));
}

/* --- reading ------------------------------------------------------------------------------ */

static const char *const thinking_names[] = {"unknown", "none",  "adaptive",
                                             "budget",  "level", "effort"};
static const char *const field_names[] = {"stream_options",
                                          "parallel_tool_calls",
                                          "strict",
                                          "effort",
                                          "summary",
                                          "thinking",
                                          "tool_choice",
                                          "max_tokens",
                                          "cache_key",
                                          "include",
                                          "store",
                                          "cache_control",
                                          "reasoning_content",
                                          "json_schema",
                                          "no_reasoning_content"};

static size_t index_of(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    driver_fail("no such name", name);
}

static const ik_target_t *read_target(const void *ctx, json_t *spec)
{
    ik_target_t *target = driver_target(
        ctx, text_of(spec, "wire", "chat"), text_of(spec, "provider", "test"),
        text_of(spec, "base_url", "http://127.0.0.1:9"), text_of(spec, "model", "model"));
    ik_config_provider_t *config = (ik_config_provider_t *)target->config;
    config->api_key = text_of(spec, "api_key", NULL);
    ik_model_t *facts = (ik_model_t *)target->facts;
    facts->context = number_of(spec, "context");
    facts->max_output = number_of(spec, "max_output");
    facts->thinking = (ik_model_thinking_t)index_of(
        thinking_names, sizeof(thinking_names) / sizeof(thinking_names[0]),
        text_of(spec, "thinking", "unknown"));
    return target;
}

static ik_msg_t *read_message(const void *ctx, json_t *spec)
{
    json_t *data = json_object_get(spec, "data");
    const char *data_json = text_of(spec, "data_json", NULL);
    if (json_is_object(data)) {
        data_json = ik_json_format(ctx, data);
    }
    return ik_msg_create(ctx, text_of(spec, "kind", ""), text_of(spec, "content", NULL), data_json);
}

static ik_conversation_t *read_conversation(const void *ctx, json_t *spec)
{
    ik_conversation_t *stored = ik_conversation_create(ctx);
    size_t i;
    json_t *message;
    json_array_foreach(json_object_get(spec, "messages"), i, message)
    {
        ik_conversation_append(stored, read_message(stored, message));
    }
    return ik_conversation_take_repaired(ctx, stored);
}

static void read_tools(ik_request_t *request, json_t *tools)
{
    size_t i;
    json_t *tool;
    json_array_foreach(tools, i, tool)
    {
        ik_request_add_tool(request, text_of(tool, "name", ""), text_of(tool, "description", ""),
                            json_object_get(tool, "parameters"), json_object_get(tool, "returns"));
    }
    ik_request_sort_tools(request);
}

static unsigned read_refused(json_t *names)
{
    unsigned refused = 0;
    size_t i;
    json_t *name;
    json_array_foreach(names, i, name)
    {
        refused |= 1U << index_of(field_names, sizeof(field_names) / sizeof(field_names[0]),
                                  json_string_value(name));
    }
    return refused;
}

/* "images" holds the contents as base64, by their SHA-256. */
static bool read_image(void *data, const void *ctx, const char *sha256, char **bytes, size_t *len)
{
    const char *base64 = text_of(data, sha256, NULL);
    ik_buffer_t contents;
    ik_buffer_init(&contents, ctx, IK_BUFFER_UNLIMITED);
    if (base64 == NULL || !ik_base64_append_decoded(&contents, base64, strlen(base64))) {
        return false;
    }
    *len = contents.len;
    *bytes = ik_buffer_finish(&contents);
    return true;
}

static void read_images(ik_request_t *request, json_t *spec)
{
    json_t *refused = json_object_get(spec, "refused_images");
    ik_blob_name_t *names = ik_new_array(request, ik_blob_name_t, json_array_size(refused) + 1);
    for (size_t i = 0; i < json_array_size(refused); i++) {
        snprintf(names[i].hex, sizeof(names[i].hex), "%s",
                 json_string_value(json_array_get(refused, i)));
    }
    request->images = (ik_request_images_t){
        .blind = json_is_true(json_object_get(spec, "blind")),
        .dropped = (size_t)number_of(spec, "dropped_images"),
        .refused = names,
        .refused_count = json_array_size(refused),
        .read = read_image,
        .data = json_object_get(spec, "images"),
    };
}

static ik_request_t *read_request(const void *ctx, json_t *spec)
{
    ik_request_t *request =
        ik_request_create(ctx, read_target(ctx, json_object_get(spec, "target")));
    ik_conversation_t *conversation = read_conversation(ctx, spec);
    request->conversation = conversation;
    request->system = text_of(spec, "system", NULL);
    read_tools(request, json_object_get(spec, "tools"));
    request->forbid_tools = json_is_true(json_object_get(spec, "forbid_tools"));
    request->trimmed_results = json_is_integer(json_object_get(spec, "trimmed_results"))
                                   ? (size_t)number_of(spec, "trimmed_results")
                                   : ik_conversation_trimmed_results(conversation);
    request->drop_reasoning = json_is_true(json_object_get(spec, "drop_reasoning")) ? SIZE_MAX : 0;
    request->effort = text_of(spec, "effort", NULL);
    request->max_output_tokens = number_of(spec, "max_output_tokens");
    request->cache_key = text_of(spec, "cache_key", NULL);
    request->continuation = text_of(spec, "continuation", NULL);
    request->refused = read_refused(json_object_get(spec, "refused"));
    read_images(request, spec);
    return request;
}

/* --- writing ------------------------------------------------------------------------------ */

/* The body is spliced in as it is: it must be JSON. */
static void append_body(ik_buffer_t *out, ik_wire_t *wire, const ik_request_t *request)
{
    ik_wire_body_t body;
    ik_json_span_t value;
    ik_wire_format(wire, request, &body);
    size_t begin = out->len;
    for (size_t i = 0; i < body.count; i++) {
        ik_buffer_append(out, body.parts[i].bytes, body.parts[i].len);
    }
    if (out->len - begin != body.total) {
        driver_fail("the total is wrong", out->data + begin);
    }
    if (!ik_json_scan(out->data + begin, out->len - begin, &value, NULL)) {
        driver_fail("the body is no JSON", out->data + begin);
    }
}

static bool ends_group(const ik_conversation_t *all, size_t count)
{
    const ik_msg_t *last = all->messages[count - 1];
    const ik_msg_t *next = count < all->count ? all->messages[count] : NULL;
    bool ours = ik_msg_is(last, IK_MSG_USER) || ik_msg_is(last, IK_MSG_TOOL_RESULT);
    return ours &&
           (next == NULL || ik_msg_is(next, IK_MSG_ASSISTANT) || ik_msg_is(next, IK_MSG_TOOL_CALL));
}

static void append_turns(ik_buffer_t *out, ik_request_t *request)
{
    const ik_conversation_t *all = request->conversation;
    ik_conversation_t *growing = ik_conversation_create(out->ctx);
    ik_wire_t *wire = ik_wire_create(out->ctx);
    bool first = true;
    request->conversation = growing;
    for (size_t i = 0; i < all->count; i++) {
        const ik_msg_t *message = all->messages[i];
        ik_conversation_append(
            growing, ik_msg_create(growing, message->kind, message->content, message->data_json));
        if (ends_group(all, i + 1)) {
            ik_buffer_append_text(out, first ? "" : ",");
            append_body(out, wire, request);
            first = false;
        }
    }
}

static void append_headers(ik_buffer_t *out, const ik_request_t *request)
{
    char **headers = request->target->provider->format_headers(out->ctx, request);
    for (size_t i = 0; headers[i] != NULL; i++) {
        ik_buffer_append_text(out, i == 0 ? "" : ",");
        ik_json_append_text(out, headers[i]);
    }
}

static void print_request(const void *ctx, json_t *spec)
{
    ik_request_t *request = read_request(ctx, spec);
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_text(&out, "{\"url\":");
    ik_json_append_text(&out, request->target->provider->format_url(ctx, request));
    ik_buffer_append_text(&out, ",\"headers\":[");
    append_headers(&out, request);
    ik_buffer_append_text(&out, "],\"body\":");
    append_body(&out, ik_wire_create(ctx), request);
    if (json_is_true(json_object_get(spec, "turns"))) {
        ik_buffer_append_text(&out, ",\"bodies\":[");
        append_turns(&out, request);
        ik_buffer_append_byte(&out, ']');
    }
    ik_buffer_append_byte(&out, '}');
    puts(out.data);
}

/* {"schema":…, "arguments":"…"}: prints the strict form of the schema, and the arguments as the
 * tool gets them. */
static void print_strict(const void *ctx, json_t *spec)
{
    json_t *schema = json_object_get(spec, "schema");
    json_t *strict = ik_openai_schema_make_strict(schema);
    ik_json_span_t arguments;
    const char *text = text_of(spec, "arguments", "{}");
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    if (!ik_json_scan(text, strlen(text), &arguments, NULL)) {
        driver_fail("arguments are no JSON", text);
    }
    bool changed = ik_openai_schema_remove_nulls(&out, schema, arguments);
    json_t *answer =
        json_pack("{s:o?, s:s?}", "strict", strict, "arguments", changed ? out.data : NULL);
    puts(ik_json_format(ctx, answer));
    json_decref(answer);
}

int main(void)
{
    void *ctx = talloc_new(NULL);
    ik_buffer_t input;
    ik_buffer_init(&input, ctx, IK_BUFFER_UNLIMITED);
    driver_read(&input, stdin, "stdin");
    json_error_t error;
    json_t *spec = ik_json_parse(input.data, input.len, &error);
    if (spec == NULL) {
        driver_fail("stdin is no JSON", error.text);
    }
    ik_json_adopt(ctx, spec);
    if (json_object_get(spec, "schema") != NULL) {
        print_strict(ctx, spec);
    } else {
        print_request(ctx, spec);
    }
    talloc_free(ctx);
    return 0;
}

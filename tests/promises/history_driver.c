/*
 * Histories to requests, for the promise that any session can be sent to any provider.
 *
 *   history_driver steps < ANSWERS
 *
 * reads lines [WIRE, PROVIDER, BASE_URL, MODEL, BYTES]: what a server streamed. For each it prints
 * a line with the messages that an agent makes of the answer, [[KIND, CONTENT, DATA], …].
 *
 *   history_driver requests SETTING < HISTORIES
 *
 * reads lines of such messages. Each is repaired, the user says one thing more, and for every
 * target of SETTING ({"targets": […], "tools": […], "images": {SHA-256: base64}}) the request's
 * body is printed, its length on a line before it; before all of them stands a line that is empty
 * or says what is wrong with what came out of the repair. Every fourth history or so is closed by a
 * request for a summary.
 */
#include "../provider/driver.h"
#include "agent/answer.h"
#include "base/base64.h"
#include "conversation/context.h"
#include "provider/stream.h"
#include "provider/wire.h"
#include "repaired.h"

/* --- lines -------------------------------------------------------------------------------- */

/* Bytes that are not UTF-8 stay what they are: histories hold anything. */
static char *take_text(const void *ctx, ik_json_span_t array, size_t *position, size_t *len)
{
    ik_json_span_t value;
    if (!ik_json_next_element(array, position, &value) || ik_json_kind(value) != IK_JSON_STRING) {
        return NULL;
    }
    return ik_json_decode(ctx, value, len);
}

static ik_json_span_t scan_line(const char *line, size_t len)
{
    ik_json_span_t value;
    if (!ik_json_scan(line, len, &value, NULL) || ik_json_kind(value) != IK_JSON_ARRAY) {
        driver_fail("a line is no array", line);
    }
    return value;
}

static void for_each_line(void (*handle)(void *data, ik_json_span_t line), void *data)
{
    char *line = NULL;
    size_t size = 0;
    for (ssize_t len; (len = getline(&line, &size, stdin)) > 0;) {
        handle(data, scan_line(line, (size_t)len));
        fflush(stdout);
    }
    free(line);
}

/* --- steps -------------------------------------------------------------------------------- */

static ik_conversation_t *messages_of(const void *ctx, const ik_stream_t *stream)
{
    return ik_answer_to_messages(ctx, stream, &(ik_answer_options_t){0});
}

static void append_text(ik_buffer_t *out, const char *text)
{
    if (text == NULL) {
        ik_buffer_append_text(out, "null");
    } else {
        ik_json_append_text(out, text);
    }
}

static void print_messages(const void *ctx, const ik_conversation_t *messages)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED);
    ik_buffer_append_byte(&out, '[');
    for (size_t i = 0; i < messages->count; i++) {
        ik_buffer_append_text(&out, i == 0 ? "[" : ",[");
        append_text(&out, messages->messages[i]->kind);
        ik_buffer_append_byte(&out, ',');
        append_text(&out, messages->messages[i]->content);
        ik_buffer_append_byte(&out, ',');
        append_text(&out, messages->messages[i]->data_json);
        ik_buffer_append_byte(&out, ']');
    }
    ik_buffer_append_byte(&out, ']');
    puts(out.data);
}

static void print_step(void *data, ik_json_span_t line)
{
    (void)data;
    void *ctx = talloc_new(NULL);
    const char *words[4];
    size_t position = 0;
    size_t len = 0;
    for (size_t i = 0; i < 4; i++) {
        words[i] = take_text(ctx, line, &position, NULL);
    }
    const char *bytes = take_text(ctx, line, &position, &len);
    const ik_target_t *target = driver_target(ctx, words[0], words[1], words[2], words[3]);
    ik_stream_t *stream = ik_stream_create(ctx, target, &(ik_stream_listener_t){0});
    ik_stream_begin(stream, "text/event-stream");
    ik_stream_feed(stream, bytes, len);
    ik_stream_finish(stream, true);
    print_messages(ctx, messages_of(ctx, stream));
    talloc_free(ctx);
}

/* --- requests ----------------------------------------------------------------------------- */

typedef struct {
    ik_request_t **requests; /* one for each target */
    size_t count;
} setting_t;

static const char *member(json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text == NULL ? "" : text;
}

static ik_model_thinking_t thinking_of(const char *name)
{
    static const char *const names[] = {"unknown", "none", "adaptive", "budget", "level", "effort"};
    size_t i = 0;
    while (i < sizeof(names) / sizeof(names[0]) && strcmp(names[i], name) != 0) {
        i++;
    }
    return i < sizeof(names) / sizeof(names[0]) ? (ik_model_thinking_t)i
                                                : IK_MODEL_THINKING_UNKNOWN;
}

static bool read_image(void *data, const void *ctx, const char *sha256, char **bytes, size_t *len)
{
    const char *base64 = json_string_value(json_object_get(data, sha256));
    ik_buffer_t contents;
    ik_buffer_init(&contents, ctx, IK_BUFFER_UNLIMITED);
    if (base64 == NULL || !ik_base64_append_decoded(&contents, base64, strlen(base64))) {
        return false;
    }
    *len = contents.len;
    *bytes = ik_buffer_finish(&contents);
    return true;
}

static ik_request_t *make_request(const void *ctx, json_t *spec, json_t *tools, json_t *images)
{
    ik_target_t *target = driver_target(ctx, member(spec, "wire"), member(spec, "provider"),
                                        member(spec, "base_url"), member(spec, "model"));
    ((ik_model_t *)target->facts)->thinking = thinking_of(member(spec, "thinking"));
    ik_request_t *request = ik_request_create(ctx, target);
    request->cache_key = "0123456789abcdef";
    request->images = (ik_request_images_t){.read = read_image, .data = images};
    size_t i;
    json_t *tool;
    json_array_foreach(tools, i, tool)
    {
        ik_request_add_tool(request, member(tool, "name"), member(tool, "description"),
                            json_object_get(tool, "parameters"), NULL);
    }
    ik_request_sort_tools(request);
    return request;
}

static void read_setting(const void *ctx, setting_t *setting, const char *text)
{
    json_error_t error;
    json_t *spec = ik_json_parse(text, strlen(text), &error);
    if (spec == NULL) {
        driver_fail("the setting is no JSON", error.text);
    }
    ik_json_adopt(ctx, spec);
    json_t *targets = json_object_get(spec, "targets");
    setting->count = json_array_size(targets);
    setting->requests = ik_new_array(ctx, ik_request_t *, setting->count);
    for (size_t i = 0; i < setting->count; i++) {
        setting->requests[i] =
            make_request(ctx, json_array_get(targets, i), json_object_get(spec, "tools"),
                         json_object_get(spec, "images"));
    }
}

static ik_conversation_t *read_history(const void *ctx, ik_json_span_t line)
{
    ik_conversation_t *stored = ik_conversation_create(ctx);
    ik_json_span_t message;
    size_t position = 0;
    while (ik_json_next_element(line, &position, &message)) {
        size_t inner = 0;
        const char *kind = take_text(stored, message, &inner, NULL);
        const char *content = take_text(stored, message, &inner, NULL);
        const char *data = take_text(stored, message, &inner, NULL);
        ik_conversation_append(stored,
                               ik_msg_create(stored, kind == NULL ? "" : kind, content, data));
    }
    return stored;
}

static void print_body(ik_request_t *request, const ik_context_t *context, ik_msg_t *closing)
{
    ik_wire_body_t body;
    request->conversation = context->sent;
    request->system = ik_conversation_system(context->conversation);
    request->trimmed_results = ik_context_trimmed_results(context);
    request->closing = closing;
    request->forbid_tools = closing != NULL;
    ik_wire_t *wire = ik_wire_create(NULL);
    request->images.refused_count =
        ik_conversation_refused_images(wire, context->conversation, &request->images.refused);
    request->images.dropped = context->at;
    ik_wire_format(wire, request, &body);
    printf("%zu\n", body.total);
    for (size_t i = 0; i < body.count; i++) {
        fwrite(body.parts[i].bytes, 1, body.parts[i].len, stdout);
    }
    talloc_free(wire);
}

static void print_requests(void *data, ik_json_span_t line)
{
    setting_t *setting = data;
    void *ctx = talloc_new(NULL);
    ik_conversation_t *repaired = ik_conversation_take_repaired(ctx, read_history(ctx, line));
    const char *fault = repaired_fault(repaired);
    puts(fault == NULL ? "" : fault);
    ik_conversation_append(repaired, ik_msg_create(repaired, IK_MSG_USER, "Go on.", NULL));
    ik_context_t *context = ik_context_create(ctx, repaired);
    ik_msg_t *closing = ik_msg_create(ctx, IK_MSG_USER, "Summarise.", NULL);
    bool asks = repaired->count % 4 == 0; /* for a summary */
    for (size_t i = 0; i < setting->count; i++) {
        print_body(setting->requests[i], context, asks ? closing : NULL);
    }
    talloc_free(ctx);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "steps") == 0) {
        for_each_line(print_step, NULL);
        return 0;
    }
    if (argc != 3 || strcmp(argv[1], "requests") != 0) {
        driver_fail("usage", "history_driver steps | requests SETTING");
    }
    void *ctx = talloc_new(NULL);
    setting_t setting;
    read_setting(ctx, &setting, argv[2]);
    for_each_line(print_requests, &setting);
    talloc_free(ctx);
    return 0;
}

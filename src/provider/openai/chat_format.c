/*
 * Requests to OpenAI's Chat Completions API, which many servers imitate with differences. Fields
 * that only OpenAI accepts go only to the provider named openai; openai_endpoint.h tells Mistral
 * and DeepSeek apart, which need special treatment.
 */
#include "provider/openai/chat_stream.h"
#include "provider/openai/openai_endpoint.h"
#include "provider/openai/openai_model.h"
#include "provider/openai/openai_tool.h"
#include "provider/wire_image.h"
#include "provider/words.h"

static bool is_openai(const ik_request_t *request)
{
    return ik_openai_endpoint_is_openai(request->target);
}

static bool is_mistral(const ik_request_t *request)
{
    return ik_openai_endpoint_is_mistral(request->target);
}

static char *format_url(const void *ctx, const ik_request_t *request)
{
    return ik_openai_endpoint_url(ctx, request, "/chat/completions");
}

/* --- head ---------------------------------------------------------------------------------- */

static void format_tools(ik_buffer_t *out, const ik_request_t *request)
{
    ik_openai_tool_append_all(out, request, "{\"type\":\"function\",\"function\":{", "}}",
                              IK_OPENAI_TOOL_OMIT);
}

static void append_generation(ik_buffer_t *out, const ik_request_t *request)
{
    /* max_tokens is the old spelling, which most servers know and OpenAI's reasoning models refuse.
     * After a refusal the other spelling is used. */
    bool newer = is_openai(request) == ik_request_may_send(request, IK_FIELD_MAX_TOKENS);
    const char *effort = ik_openai_model_chat_effort(request);
    if (request->max_output_tokens > 0) {
        ik_buffer_append_format(out, ",\"%s\":%ld", newer ? "max_completion_tokens" : "max_tokens",
                                request->max_output_tokens);
    }
    if (effort != NULL) {
        ik_buffer_append_text(out, ",\"reasoning_effort\":");
        ik_json_append_text(out, effort);
    }
}

static void append_tools(ik_buffer_t *out, const ik_request_t *request, ik_json_span_t tools)
{
    if (tools.len == 0) {
        return;
    }
    if (request->forbid_tools && ik_request_may_send(request, IK_FIELD_TOOL_CHOICE)) {
        ik_buffer_append_text(out, ",\"tool_choice\":\"none\"");
    }
    ik_buffer_append_text(out, ",\"tools\":");
    ik_buffer_append(out, tools.text, tools.len);
}

/* The system prompt is the first message. It may change between requests, so it is written here.
 * Its comma is safe: every conversation begins with a user's message. */
static void format_head(ik_buffer_t *out, const ik_request_t *request, ik_json_span_t tools)
{
    ik_buffer_append_text(out, "{\"model\":");
    ik_json_append_text(out, request->target->model);
    ik_buffer_append_text(out, ",\"stream\":true");
    if (ik_request_may_send(request, IK_FIELD_STREAM_OPTIONS) && !is_mistral(request)) {
        ik_buffer_append_text(out, ",\"stream_options\":{\"include_usage\":true}");
    }
    if (is_openai(request)) {
        ik_openai_endpoint_append_fields(out, request);
    }
    append_generation(out, request);
    append_tools(out, request, tools);
    ik_buffer_append_text(out, ",\"messages\":[");
    if (request->system != NULL) {
        ik_buffer_append_text(out, "{\"role\":\"system\",\"content\":");
        ik_json_append_text(out, request->system);
        ik_buffer_append_text(out, "},");
    }
}

/* --- messages ------------------------------------------------------------------------------ */

/* Appends the images of a message as parts, each after a comma unless it is the first part. A part
 * of the user's own has a marker in place of an image that is not sent; the markers of a result are
 * in its text. */
static void append_images(ik_wire_t *wire, const ik_request_t *request, const ik_msg_t *message,
                          bool first)
{
    bool own = ik_msg_is(message, IK_MSG_USER);
    size_t position = 0;
    ik_wire_image_t *image;
    while ((image = ik_wire_image_next(wire, message, &position)) != NULL) {
        if (image->why != NULL && !own) {
            continue;
        }
        ik_buffer_append_text(&wire->messages, first ? "" : ",");
        first = false;
        if (!ik_wire_image_append(
                wire, request, image,
                "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:%s;base64,",
                own ? "\",\"detail\":\"auto\"}}" : "\"}}")) {
            ik_buffer_append_text(&wire->messages, "{\"type\":\"text\",\"text\":\"");
            ik_wire_image_append_marker(&wire->messages, image);
            ik_buffer_append_text(&wire->messages, "\"}");
        }
    }
}

/* Another server under the same provider name may have given longer ids than OpenAI takes. */
static bool needs_short_id(const ik_request_t *request, const ik_msg_t *message)
{
    enum { OPENAI_MAX = 40 };
    const char *name = ik_msg_is(message, IK_MSG_TOOL_CALL) ? "id" : "tool_call_id";
    ik_json_span_t id;
    return is_mistral(request) ||
           (is_openai(request) && ik_msg_field(message, name, &id) && id.len > OPENAI_MAX + 2);
}

static void append_result(ik_wire_t *wire, const ik_request_t *request, const ik_msg_t *message)
{
    ik_buffer_t *out = ik_wire_begin_element(wire);
    ik_buffer_append_text(out, "{\"role\":\"tool\",\"tool_call_id\":");
    ik_wire_append_id(out, request, message, needs_short_id(request, message));
    ik_buffer_append_text(out, ",\"content\":");
    ik_wire_append_output_text(wire, request, out, message);
    out->len--; /* the closing quote */
    ik_wire_image_append_markers(wire, out, message, "\\n");
    ik_buffer_append_text(out, "\"}");
}

static bool any_images(const ik_wire_t *wire, ik_msg_t *const *messages, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ik_wire_image_any_sent(wire, messages[i])) {
            return true;
        }
    }
    return false;
}

/* A tool message holds text only. The images of all results of a step follow in one message of the
 * user: a message between two results would separate a call from its result. */
static void append_result_images(ik_wire_t *wire, const ik_request_t *request,
                                 ik_msg_t *const *results, size_t count)
{
    ik_buffer_t *out = ik_wire_begin_element(wire);
    const char *separator = "";
    ik_buffer_append_text(out, "{\"role\":\"user\",\"content\":[");
    for (size_t i = 0; i < count; i++) {
        ik_json_span_t name;
        if (!ik_wire_image_any_sent(wire, results[i])) {
            continue;
        }
        ik_buffer_t id;
        ik_buffer_init(&id, NULL, IK_BUFFER_UNLIMITED); /* bounded by the id */
        ik_wire_append_id(&id, request, results[i], needs_short_id(request, results[i]));
        ik_buffer_append_text(out, separator);
        ik_buffer_append_text(out, "{\"type\":\"text\",\"text\":\"Image from tool call ");
        ik_buffer_append(out, id.data + 1, id.len - 2);
        if (ik_msg_field(results[i], "name", &name) && ik_json_kind(name) == IK_JSON_STRING) {
            ik_buffer_append_text(out, " (");
            ik_buffer_append(out, name.text + 1, name.len - 2);
            ik_buffer_append_byte(out, ')');
        }
        ik_buffer_append_text(out, ":\"}");
        append_images(wire, request, results[i], false);
        ik_buffer_reset(&id);
        separator = ",";
    }
    ik_buffer_append_text(out, "]}");
}

/* Without an image that is sent, the message is plain text, which every server accepts. */
static void append_question(ik_wire_t *wire, const ik_request_t *request, const ik_msg_t *message)
{
    bool blank = ik_msg_text_is_blank(message->content);
    ik_buffer_t *out = ik_wire_begin_element(wire);
    if (!ik_wire_image_any_sent(wire, message)) {
        ik_buffer_append_text(out, "{\"role\":\"user\",\"content\":\"");
        ik_words_append(out, blank ? "" : message->content);
        ik_wire_image_append_markers(wire, out, message, blank ? "" : "\\n");
        ik_buffer_append_text(out, "\"}");
        return;
    }
    ik_buffer_append_text(out, "{\"role\":\"user\",\"content\":[");
    if (!blank) {
        ik_buffer_append_text(out, "{\"type\":\"text\",\"text\":\"");
        ik_words_append(out, message->content);
        ik_buffer_append_text(out, "\"}");
    }
    append_images(wire, request, message, blank);
    ik_buffer_append_text(out, "]}");
}

static bool is_text(const ik_msg_t *message)
{
    return ik_msg_is(message, IK_MSG_ASSISTANT) && message->content != NULL &&
           message->content[0] != '\0';
}

/* Several texts of one step become paragraphs. */
static void append_content(ik_buffer_t *out, const ik_wire_step_t *step)
{
    bool any = false;
    for (size_t i = 0; i < step->count; i++) {
        if (is_text(step->messages[i])) {
            ik_buffer_append_text(out, any ? "\\n\\n" : "\"");
            ik_words_append(out, step->messages[i]->content);
            any = true;
        }
    }
    ik_buffer_append_text(out, any ? "\"" : "null");
}

static void append_call(ik_buffer_t *out, const ik_request_t *request, const ik_msg_t *call,
                        ik_json_span_t extra)
{
    ik_json_span_t name = {"\"\"", 2};
    ik_msg_call_field(call, "name", &name);
    ik_buffer_append_text(out, "{\"id\":");
    ik_wire_append_id(out, request, call, needs_short_id(request, call));
    ik_buffer_append_text(out, ",\"type\":\"function\",\"function\":{\"name\":");
    ik_buffer_append(out, name.text, name.len);
    ik_buffer_append_text(out, ",\"arguments\":");
    ik_wire_append_arguments_text(out, call);
    ik_buffer_append_byte(out, '}');
    if (ik_json_is(extra, IK_JSON_OBJECT)) {
        ik_buffer_append_text(out, ",\"extra_content\":");
        ik_buffer_append(out, extra.text, extra.len);
    }
    ik_buffer_append_byte(out, '}');
}

static void append_calls(ik_buffer_t *out, const ik_request_t *request, const ik_wire_step_t *step,
                         ik_json_span_t extras)
{
    bool has_extras = ik_json_is(extras, IK_JSON_ARRAY);
    size_t position = 0;
    size_t next = 0;
    bool first = true;
    for (const ik_msg_t *call; (call = ik_wire_next_call(step, &next)) != NULL;) {
        ik_json_span_t extra = {0};
        if (has_extras && !ik_json_next_element(extras, &position, &extra)) {
            extra = (ik_json_span_t){0};
        }
        ik_buffer_append_text(out, first ? ",\"tool_calls\":[" : ",");
        append_call(out, request, call, extra);
        first = false;
    }
    ik_buffer_append_text(out, first ? "" : "]");
}

static bool has_calls(const ik_wire_step_t *step)
{
    size_t position = 0;
    return ik_wire_next_call(step, &position) != NULL;
}

static bool has_text(const ik_wire_step_t *step)
{
    for (size_t i = 0; i < step->count; i++) {
        if (is_text(step->messages[i])) {
            return true;
        }
    }
    return false;
}

/* DeepSeek refuses a step with calls unless it has reasoning_content, which may be empty. A server
 * that forwards to DeepSeek is not known as such before it has refused one. */
static void append_reasoning(ik_buffer_t *out, const ik_request_t *request,
                             const ik_wire_step_t *step, ik_json_span_t content,
                             ik_json_span_t details)
{
    if (is_mistral(request) || !ik_request_may_send(request, IK_FIELD_REASONING_CONTENT)) {
        return;
    }
    if (ik_json_is(content, IK_JSON_STRING)) {
        ik_buffer_append_text(out, ",\"reasoning_content\":");
        ik_buffer_append(out, content.text, content.len);
    } else if (!ik_request_may_send(request, IK_FIELD_NO_REASONING_CONTENT) ||
               (has_calls(step) && ik_openai_endpoint_is_deepseek(request->target))) {
        ik_buffer_append_text(out, ",\"reasoning_content\":\"\"");
    }
    if (ik_json_is(details, IK_JSON_ARRAY)) {
        ik_buffer_append_text(out, ",\"reasoning_details\":");
        ik_buffer_append(out, details.text, details.len);
    }
}

static void append_step(ik_wire_t *wire, const ik_request_t *request, const ik_wire_step_t *step)
{
    enum { CONTENT, DETAILS, EXTRA, COUNT };
    static const char *const names[COUNT] = {"reasoning_content", "reasoning_details",
                                             "extra_content"};
    ik_json_span_t values[COUNT];
    if (!has_text(step) && !has_calls(step)) {
        return; /* reasoning alone makes no message */
    }
    ik_json_find_members(step->private_json, names, COUNT, values);
    ik_buffer_t *out = ik_wire_begin_element(wire);
    ik_buffer_append_text(out, "{\"role\":\"assistant\",\"content\":");
    append_content(out, step);
    append_reasoning(out, request, step, values[CONTENT], values[DETAILS]);
    append_calls(out, request, step, values[EXTRA]);
    ik_buffer_append_byte(out, '}');
}

/* Mistral refuses a user's message right after a tool result. */
static void append_questions(ik_wire_t *wire, const ik_request_t *request,
                             ik_msg_t *const *messages, size_t count)
{
    static const char between[] =
        "{\"role\":\"assistant\",\"content\":\"(The user wrote before the answer.)\"}";
    for (size_t i = 0; i < count;) {
        size_t results = 0;
        while (i + results < count && ik_msg_is(messages[i + results], IK_MSG_TOOL_RESULT)) {
            append_result(wire, request, messages[i + results++]);
        }
        bool images = any_images(wire, messages + i, results);
        if (results > 0 && is_mistral(request) && (images || i + results < count)) {
            ik_buffer_append_text(ik_wire_begin_element(wire), between);
        }
        if (images) {
            append_result_images(wire, request, messages + i, results);
        }
        i += results;
        if (i < count) {
            append_question(wire, request, messages[i++]);
        }
    }
}

static void format_group(ik_wire_t *wire, const ik_request_t *request, ik_msg_t *const *messages,
                         size_t count)
{
    if (ik_msg_is(messages[0], IK_MSG_USER) || ik_msg_is(messages[0], IK_MSG_TOOL_RESULT)) {
        append_questions(wire, request, messages, count);
        return;
    }
    size_t position = 0;
    ik_wire_step_t step;
    while (ik_wire_next_step(wire, request, messages, count, &position, &step)) {
        append_step(wire, request, &step);
    }
}

const ik_provider_t ik_provider_chat = {
    .name = "chat",
    .reasoning_is_separate = true,
    .takes_any_id = true,
    .refuses_animation = true,
    .ends_with_done = true,
    .format_url = format_url,
    .format_headers = ik_openai_endpoint_headers,
    .format_tools = format_tools,
    .format_head = format_head,
    .format_group = format_group,
    .restore_arguments = ik_openai_tool_restore_arguments,
    .stream_begin = ik_chat_stream_begin,
    .stream_event = ik_chat_stream_event,
    .stream_end = ik_chat_stream_end,
};

/*
 * Requests to OpenAI's Responses API, used without state: the server stores nothing, so its output
 * items go back to it with their encrypted reasoning.
 */
#include <string.h>

#include "base/alloc.h"
#include "provider/openai/openai_endpoint.h"
#include "provider/openai/openai_model.h"
#include "provider/openai/openai_tool.h"
#include "provider/responses/responses_stream.h"
#include "provider/wire_image.h"
#include "provider/words.h"

static char *format_url(const void *ctx, const ik_request_t *request)
{
    return ik_openai_endpoint_url(ctx, request, "/responses");
}

/* --- head ---------------------------------------------------------------------------------- */

static void format_tools(ik_buffer_t *out, const ik_request_t *request)
{
    ik_openai_tool_append_all(out, request, "{\"type\":\"function\",", "}", IK_OPENAI_TOOL_STATE);
}

static void append_reasoning(ik_buffer_t *out, const ik_request_t *request)
{
    bool effort = request->effort != NULL && ik_request_may_send(request, IK_FIELD_EFFORT);
    bool summary = ik_request_may_send(request, IK_FIELD_SUMMARY);
    if ((!effort && !summary) || !ik_request_may_send(request, IK_FIELD_THINKING)) {
        return;
    }
    ik_buffer_append_text(out, ",\"reasoning\":{");
    if (effort) {
        ik_buffer_append_text(out, "\"effort\":");
        ik_json_append_text(out, request->effort);
    }
    if (summary) {
        ik_buffer_append_text(out, effort ? ",\"summary\":\"auto\"" : "\"summary\":\"auto\"");
    }
    ik_buffer_append_byte(out, '}');
}

/* A model that does not reason refuses these fields. */
static void append_reasoning_fields(ik_buffer_t *out, const ik_request_t *request)
{
    if (!ik_openai_model_reasons(request->target)) {
        return;
    }
    if (ik_request_may_send(request, IK_FIELD_INCLUDE)) {
        ik_buffer_append_text(out, ",\"include\":[\"reasoning.encrypted_content\"]");
    }
    append_reasoning(out, request);
}

static void append_tools(ik_buffer_t *out, const ik_request_t *request, ik_json_span_t tools)
{
    if (tools.len == 0) {
        return;
    }
    if (ik_request_may_send(request, IK_FIELD_TOOL_CHOICE)) {
        ik_buffer_append_format(out, ",\"tool_choice\":\"%s\"",
                                request->forbid_tools ? "none" : "auto");
    }
    ik_buffer_append_text(out, ",\"tools\":");
    ik_buffer_append(out, tools.text, tools.len);
}

static void format_head(ik_buffer_t *out, const ik_request_t *request, ik_json_span_t tools)
{
    ik_buffer_append_text(out, "{\"model\":");
    ik_json_append_text(out, request->target->model);
    ik_buffer_append_text(out, ",\"stream\":true");
    ik_openai_endpoint_append_fields(out, request);
    append_reasoning_fields(out, request);
    if (request->max_output_tokens > 0 && ik_request_may_send(request, IK_FIELD_MAX_TOKENS)) {
        ik_buffer_append_format(out, ",\"max_output_tokens\":%ld", request->max_output_tokens);
    }
    append_tools(out, request, tools);
    if (request->system != NULL) {
        ik_buffer_append_text(out, ",\"instructions\":");
        ik_json_append_text(out, request->system);
    }
    ik_buffer_append_text(out, ",\"input\":[");
}

/* --- items --------------------------------------------------------------------------------- */

/* Appends the images of a message, or their markers, as parts, each after a comma unless it is the
 * first part. */
static void append_images(ik_wire_t *wire, const ik_request_t *request, const ik_msg_t *message,
                          bool first)
{
    size_t position = 0;
    ik_wire_image_t *image;
    while ((image = ik_wire_image_next(wire, message, &position)) != NULL) {
        ik_buffer_append_text(&wire->messages, first ? "" : ",");
        first = false;
        if (!ik_wire_image_append(wire, request, image,
                                  "{\"type\":\"input_image\",\"image_url\":\"data:%s;base64,",
                                  "\",\"detail\":\"auto\"}")) {
            ik_buffer_append_text(&wire->messages, "{\"type\":\"input_text\",\"text\":\"");
            ik_wire_image_append_marker(&wire->messages, image);
            ik_buffer_append_text(&wire->messages, "\"}");
        }
    }
}

static void append_user(ik_wire_t *wire, const ik_request_t *request, const ik_msg_t *message)
{
    bool blank = ik_msg_text_is_blank(message->content);
    ik_buffer_t *out = ik_wire_begin_element(wire);
    ik_buffer_append_text(out, "{\"type\":\"message\",\"role\":\"user\",\"content\":[");
    if (!blank) {
        ik_buffer_append_text(out, "{\"type\":\"input_text\",\"text\":\"");
        ik_words_append(out, message->content);
        ik_buffer_append_text(out, "\"}");
    }
    append_images(wire, request, message, blank);
    ik_buffer_append_text(out, "]}");
}

static void append_result(ik_wire_t *wire, const ik_request_t *request, const ik_msg_t *message)
{
    ik_buffer_t *out = ik_wire_begin_element(wire);
    ik_buffer_append_text(out, "{\"type\":\"function_call_output\",\"call_id\":");
    ik_wire_append_id(out, request, message, wire->calls_renamed);
    if (ik_wire_image_any_sent(wire, message)) {
        ik_buffer_append_text(out, ",\"output\":[{\"type\":\"input_text\",\"text\":");
        ik_wire_append_output_text(wire, request, out, message);
        ik_buffer_append_byte(out, '}');
        append_images(wire, request, message, false);
        ik_buffer_append_text(out, "]}");
        return;
    }
    ik_buffer_append_text(out, ",\"output\":");
    ik_wire_append_output_text(wire, request, out, message);
    out->len--; /* the closing quote */
    ik_wire_image_append_markers(wire, out, message, "\\n");
    ik_buffer_append_text(out, "\"}");
}

static void append_text(ik_wire_t *wire, const ik_msg_t *message)
{
    if (message->content == NULL || message->content[0] == '\0') {
        return;
    }
    ik_buffer_t *out = ik_wire_begin_element(wire);
    ik_buffer_append_text(out, "{\"type\":\"message\",\"role\":\"assistant\",\"content\":["
                               "{\"type\":\"output_text\",\"text\":\"");
    ik_words_append(out, message->content);
    ik_buffer_append_text(out, "\",\"annotations\":[]}]}");
}

/* The item has no id: the server would look up a stored item of that id and its reasoning. */
static void append_call(ik_wire_t *wire, const ik_request_t *request, const ik_msg_t *call)
{
    ik_json_span_t name = {"\"\"", 2};
    ik_msg_call_field(call, "name", &name);
    ik_buffer_t *out = ik_wire_begin_element(wire);
    ik_buffer_append_text(out, "{\"type\":\"function_call\",\"call_id\":");
    ik_wire_append_id(out, request, call, wire->calls_renamed);
    ik_buffer_append_text(out, ",\"name\":");
    ik_buffer_append(out, name.text, name.len);
    ik_buffer_append_text(out, ",\"arguments\":");
    ik_wire_append_arguments_text(out, call);
    ik_buffer_append_byte(out, '}');
}

/* --- calls as text ------------------------------------------------------------------------- */

/* Appends a message that describes a call or result; literal is a string literal. */
static void append_described(ik_wire_t *wire, const char *opening, const ik_msg_t *message,
                             const ik_buffer_t *literal, const char *closing)
{
    ik_json_span_t name = {"\"\"", 2};
    if (ik_msg_is(message, IK_MSG_TOOL_CALL)) {
        ik_msg_call_field(message, "name", &name);
    } else {
        ik_msg_field(message, "name", &name);
    }
    ik_buffer_t *out = ik_wire_begin_element(wire);
    ik_buffer_append_text(out, opening);
    ik_buffer_append(out, name.text + 1, name.len - 2);
    ik_buffer_append_text(out, ": ");
    ik_buffer_append(out, literal->data + 1, literal->len - 2);
    ik_buffer_append_text(out, closing);
}

static void append_call_as_text(ik_wire_t *wire, const ik_msg_t *call)
{
    ik_buffer_t literal;
    ik_buffer_init(&literal, NULL, IK_BUFFER_UNLIMITED); /* bounded by the message */
    ik_wire_append_arguments_text(&literal, call);
    append_described(wire,
                     "{\"type\":\"message\",\"role\":\"assistant\",\"content\":["
                     "{\"type\":\"output_text\",\"text\":\"(I called the tool ",
                     call, &literal, ")\",\"annotations\":[]}]}");
    ik_buffer_reset(&literal);
}

static void append_result_as_text(ik_wire_t *wire, const ik_request_t *request,
                                  const ik_msg_t *result)
{
    ik_buffer_t literal;
    ik_buffer_init(&literal, NULL, IK_BUFFER_UNLIMITED); /* bounded by the message */
    ik_wire_append_output_text(wire, request, &literal, result);
    append_described(wire,
                     "{\"type\":\"message\",\"role\":\"user\",\"content\":["
                     "{\"type\":\"input_text\",\"text\":\"(Result of the tool ",
                     result, &literal, ")\"}");
    append_images(wire, request, result, false);
    ik_buffer_append_text(&wire->messages, "]}");
    ik_buffer_reset(&literal);
}

/* --- steps --------------------------------------------------------------------------------- */

/* Whether an item is not a call, or is the next call of the step. */
static bool item_fits(ik_json_span_t item, const ik_wire_step_t *step, size_t *calls)
{
    static const char *const names[] = {"type", "call_id"};
    ik_json_span_t values[2];
    ik_json_span_t id;
    ik_json_find_members(item, names, 2, values);
    if (!ik_json_is_text(values[0], "function_call")) {
        return ik_json_kind(item) == IK_JSON_OBJECT;
    }
    const ik_msg_t *call = ik_wire_next_call(step, calls);
    return call != NULL && ik_msg_field(call, "id", &id) && id.len == values[1].len &&
           memcmp(id.text, values[1].text, id.len) == 0;
}

/* Whether the private items make exactly the calls of the step, for which there are results. */
static bool can_replay(const ik_wire_step_t *step)
{
    size_t position = 0;
    size_t calls = 0;
    ik_json_span_t item;
    if (!ik_json_is(step->private_json, IK_JSON_ARRAY)) {
        return false;
    }
    while (ik_json_next_element(step->private_json, &position, &item)) {
        if (!item_fits(item, step, &calls)) {
            return false;
        }
    }
    return ik_wire_next_call(step, &calls) == NULL;
}

/* Whether the item has the arguments of the call, which hooks may have changed. */
static bool has_arguments_of(ik_json_span_t item, const ik_msg_t *call)
{
    ik_json_span_t own = {0};
    ik_json_span_t stored = {0};
    ik_json_find(item, "arguments", &own);
    ik_msg_call_field(call, "arguments", &stored);
    if (!ik_json_is(own, IK_JSON_STRING) || !ik_json_is(stored, IK_JSON_STRING)) {
        return true;
    }
    size_t own_len;
    size_t stored_len;
    char *own_text = ik_json_decode(NULL, own, &own_len);
    char *stored_text = ik_json_decode(NULL, stored, &stored_len);
    bool same = own_len == stored_len && memcmp(own_text, stored_text, own_len) == 0;
    talloc_free(own_text);
    talloc_free(stored_text);
    return same;
}

/* The item with the arguments of the call. */
static void append_changed_call(ik_buffer_t *out, ik_json_span_t item, const ik_msg_t *call)
{
    size_t position = 0;
    size_t start = out->len;
    ik_json_span_t key;
    ik_json_span_t value;
    while (ik_json_next_member(item, &position, &key, &value)) {
        ik_buffer_append_byte(out, out->len == start ? '{' : ',');
        ik_buffer_append(out, key.text, key.len);
        ik_buffer_append_byte(out, ':');
        if (ik_json_key_is(key, "arguments")) {
            ik_wire_append_arguments_text(out, call);
        } else {
            ik_buffer_append(out, value.text, value.len);
        }
    }
    ik_buffer_append_byte(out, '}');
}

/* The text of messages is cleaned; all other items go back unchanged, but for arguments of calls
 * that hooks have changed. */
static void append_own_items(ik_wire_t *wire, const ik_wire_step_t *step)
{
    size_t position = 0;
    size_t calls = 0;
    ik_json_span_t item;
    while (ik_json_next_element(step->private_json, &position, &item)) {
        ik_buffer_t *out = ik_wire_begin_element(wire);
        ik_json_span_t type = {0};
        ik_json_find(item, "type", &type);
        const ik_msg_t *call =
            ik_json_is_text(type, "function_call") ? ik_wire_next_call(step, &calls) : NULL;
        if (ik_json_is_text(type, "message")) {
            ik_words_append_json(out, item);
        } else if (call != NULL && !has_arguments_of(item, call)) {
            append_changed_call(out, item, call);
        } else {
            ik_buffer_append(out, item.text, item.len);
        }
    }
}

/* Calls that lost their reasoning to another model get other ids: a server may know the reasoning
 * that belongs to its own. Calls whose reasoning it has refused keep theirs. */
static void append_step(ik_wire_t *wire, const ik_request_t *request, const ik_wire_step_t *step)
{
    bool goes_back = can_replay(step);
    size_t position = 0;
    if (ik_wire_next_call(step, &position) != NULL) {
        wire->calls_renamed =
            !goes_back && !ik_wire_has_refused_reasoning(wire, request, step->messages);
    }
    if (goes_back) {
        append_own_items(wire, step);
        return;
    }
    bool as_text = ik_wire_has_calls_as_text(wire, request, step->messages);
    for (size_t i = 0; i < step->count; i++) {
        if (as_text && ik_msg_is(step->messages[i], IK_MSG_TOOL_CALL)) {
            append_call_as_text(wire, step->messages[i]);
        } else if (ik_msg_is(step->messages[i], IK_MSG_TOOL_CALL)) {
            append_call(wire, request, step->messages[i]);
        } else {
            append_text(wire, step->messages[i]);
        }
    }
}

static void format_group(ik_wire_t *wire, const ik_request_t *request, ik_msg_t *const *messages,
                         size_t count)
{
    if (!ik_msg_is(messages[0], IK_MSG_USER) && !ik_msg_is(messages[0], IK_MSG_TOOL_RESULT)) {
        size_t position = 0;
        ik_wire_step_t step;
        while (ik_wire_next_step(wire, request, messages, count, &position, &step)) {
            append_step(wire, request, &step);
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (ik_msg_is(messages[i], IK_MSG_USER)) {
            append_user(wire, request, messages[i]);
        } else if (ik_wire_has_calls_as_text(wire, request, &messages[i])) {
            append_result_as_text(wire, request, messages[i]);
        } else {
            append_result(wire, request, messages[i]);
        }
    }
}

const ik_provider_t ik_provider_responses = {
    .name = "responses",
    .reasons_for_every_call = true,
    .can_send_calls_as_text = true,
    .takes_any_id = true,
    .private_has_ids = true,
    .refuses_animation = true,
    .format_url = format_url,
    .format_headers = ik_openai_endpoint_headers,
    .format_tools = format_tools,
    .format_head = format_head,
    .format_group = format_group,
    .restore_arguments = ik_openai_tool_restore_arguments,
    .stream_begin = ik_responses_stream_begin,
    .stream_event = ik_responses_stream_event,
    .stream_end = ik_responses_stream_end,
};

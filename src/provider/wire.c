#include "provider/wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

/* --- what is sent of a step -------------------------------------------------------------- */

static bool is_literal(ik_json_span_t literal, const char *text)
{
    return ik_json_kind(literal) == IK_JSON_STRING && ik_json_key_is(literal, text);
}

/* The first message of a step says which model made it. */
static bool begins_step(const ik_msg_t *message)
{
    ik_json_span_t model;
    return ik_msg_field(message, "model", &model);
}

static bool is_own_step(const ik_msg_t *first, const ik_request_t *request)
{
    ik_json_span_t model;
    return ik_msg_field(first, "model", &model) && is_literal(model, request->target->name);
}

/* Whether the ids the step was stored with are those of its calls now. */
static bool calls_fit(const ik_msg_t *first, ik_msg_t *const *messages, size_t count)
{
    ik_json_span_t ids;
    ik_json_span_t stored;
    ik_json_span_t id;
    size_t position = 0;
    if (!ik_msg_field(first, "calls", &ids) || ik_json_kind(ids) != IK_JSON_ARRAY) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!ik_msg_is(messages[i], IK_MSG_TOOL_CALL)) {
            continue;
        }
        if (!ik_json_next_element(ids, &position, &stored) ||
            !ik_msg_field(messages[i], "id", &id) || stored.len != id.len ||
            memcmp(stored.text, id.text, id.len) != 0) {
            return false;
        }
    }
    return !ik_json_next_element(ids, &position, &stored);
}

static bool step_fits(ik_msg_t *const *messages, size_t count)
{
    return ik_msg_field_number(messages[0], "step", 0) == (int64_t)count &&
           calls_fit(messages[0], messages, count);
}

/* What the provider left for itself: data_json.PROVIDER.WIRE */
static bool find_private(const ik_msg_t *first, const ik_request_t *request, ik_json_span_t *value)
{
    ik_json_span_t own;
    return ik_msg_field(first, request->target->config->name, &own) &&
           ik_json_kind(own) == IK_JSON_OBJECT &&
           ik_json_find(own, request->target->provider->name, value);
}

static size_t step_length(ik_msg_t *const *messages, size_t count)
{
    size_t len = 1;
    while (len < count && !begins_step(messages[len])) {
        len++;
    }
    return len;
}

bool ik_wire_next_step(const ik_wire_t *wire, const ik_request_t *request,
                       ik_msg_t *const *messages, size_t count, size_t *position,
                       ik_wire_step_t *step)
{
    if (*position >= count) {
        return false;
    }
    ik_msg_t *const *first = messages + *position;
    *step = (ik_wire_step_t){.messages = first, .count = step_length(first, count - *position)};
    size_t index = wire->group_index[first - wire->group];
    if (index < wire->reasoning_from || !is_own_step(*first, request) ||
        !step_fits(first, step->count) || !find_private(*first, request, &step->private_json)) {
        step->private_json = (ik_json_span_t){0};
    }
    *position += step->count;
    return true;
}

/* --- pieces ------------------------------------------------------------------------------ */

ik_buffer_t *ik_wire_begin_element(ik_wire_t *wire)
{
    if (wire->messages.len > 0) {
        ik_buffer_append_byte(&wire->messages, ',');
    }
    return &wire->messages;
}

static bool find_id(const ik_msg_t *message, ik_json_span_t *literal)
{
    const char *name = ik_msg_is(message, IK_MSG_TOOL_CALL) ? "id" : "tool_call_id";
    return ik_msg_field(message, name, literal) && ik_json_kind(*literal) == IK_JSON_STRING;
}

static bool is_from_provider(const ik_request_t *request, const ik_msg_t *message)
{
    ik_json_span_t provider;
    return ik_msg_field(message, "provider", &provider) &&
           is_literal(provider, request->target->config->name);
}

bool ik_wire_own_id(const ik_request_t *request, const ik_msg_t *message)
{
    static const char made_up[] = "\"ik_";
    ik_json_span_t id;
    return is_from_provider(request, message) && find_id(message, &id) && id.len > 2 &&
           strncmp(id.text, made_up, sizeof(made_up) - 1) != 0;
}

static bool is_plain_id(ik_json_span_t literal)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    enum { ID_MAX = 64 };
    return literal.len > 2 && literal.len <= ID_MAX + 2 &&
           strspn(literal.text + 1, plain) == literal.len - 2;
}

/* The same nine for the same id, so that call and result meet again. */
static void append_nine(ik_buffer_t *out, ik_json_span_t literal)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    uint64_t hash = ik_hash_bytes(literal.text, literal.len);
    char id[] = "\".........\"";
    for (size_t i = 1; i <= 9; i++) {
        id[i] = digits[hash % 62];
        hash /= 62;
    }
    ik_buffer_append_text(out, id);
}

void ik_wire_append_id(ik_buffer_t *out, const ik_request_t *request, const ik_msg_t *message,
                       bool nine)
{
    ik_json_span_t literal;
    if (!find_id(message, &literal)) {
        literal = (ik_json_span_t){"\"\"", 2};
    }
    bool acceptable = request->target->provider->takes_any_id || is_plain_id(literal);
    if (!nine && acceptable && is_from_provider(request, message)) {
        ik_buffer_append(out, literal.text, literal.len);
    } else {
        append_nine(out, literal);
    }
}

/* The decoded text of a string that holds JSON, on NULL; *object is the object in it, or empty. */
static char *decode_object(ik_json_span_t literal, ik_json_span_t *object)
{
    size_t len;
    char *text = ik_json_decode(NULL, literal, &len);
    if (!ik_json_scan(text, len, object, NULL) || ik_json_kind(*object) != IK_JSON_OBJECT) {
        *object = (ik_json_span_t){0};
    }
    return text;
}

void ik_wire_append_arguments(ik_buffer_t *out, const ik_msg_t *call)
{
    ik_json_span_t literal;
    ik_json_span_t object = {0};
    char *text = NULL;
    if (ik_msg_call_field(call, "arguments", &literal)) {
        text = decode_object(literal, &object);
    }
    if (object.len > 0) {
        ik_buffer_append(out, object.text, object.len);
    } else {
        ik_buffer_append_text(out, "{}");
    }
    talloc_free(text);
}

void ik_wire_append_arguments_text(ik_buffer_t *out, const ik_msg_t *call)
{
    ik_json_span_t literal;
    ik_json_span_t object = {0};
    if (ik_msg_call_field(call, "arguments", &literal)) {
        talloc_free(decode_object(literal, &object));
    }
    if (object.len > 0) {
        ik_buffer_append(out, literal.text, literal.len);
    } else {
        ik_buffer_append_text(out, "\"{}\"");
    }
}

/* The output as stored; false when the marker is to be sent. Counts the result. */
static bool take_output(ik_wire_t *wire, const ik_request_t *request, const ik_msg_t *result,
                        ik_json_span_t *literal)
{
    bool trimmed = wire->results++ < request->trimmed_results;
    return !trimmed && ik_msg_field(result, "output", literal) &&
           ik_json_kind(*literal) == IK_JSON_STRING;
}

void ik_wire_append_output_text(ik_wire_t *wire, const ik_request_t *request, ik_buffer_t *out,
                                const ik_msg_t *result)
{
    ik_json_span_t literal;
    if (take_output(wire, request, result, &literal)) {
        ik_buffer_append(out, literal.text, literal.len);
    } else {
        ik_json_append_text(out, ik_conversation_trimmed_envelope);
    }
}

void ik_wire_append_output(ik_wire_t *wire, const ik_request_t *request, ik_buffer_t *out,
                           const ik_msg_t *result)
{
    ik_json_span_t literal;
    ik_json_span_t object;
    if (!take_output(wire, request, result, &literal)) {
        ik_buffer_append_text(out, ik_conversation_trimmed_envelope);
        return;
    }
    char *text = decode_object(literal, &object);
    if (object.len > 0) {
        ik_buffer_append(out, object.text, object.len);
    } else {
        ik_buffer_append_text(out, "{\"output\":");
        ik_buffer_append(out, literal.text, literal.len);
        ik_buffer_append_byte(out, '}');
    }
    talloc_free(text);
}

/* --- groups ------------------------------------------------------------------------------ */

typedef enum { NEITHER, USER_SIDE, MODEL_SIDE } side_t;

static side_t side_of(const ik_msg_t *message)
{
    if (ik_msg_is(message, IK_MSG_TOOL_RESULT) || ik_msg_is(message, IK_MSG_USER)) {
        return USER_SIDE;
    }
    if (ik_msg_is(message, IK_MSG_TOOL_CALL) || ik_msg_is(message, IK_MSG_ASSISTANT)) {
        return MODEL_SIDE;
    }
    return NEITHER;
}

static side_t group_side(const ik_wire_t *wire)
{
    return wire->group_count == 0 ? NEITHER : side_of(wire->group[0]);
}

static void add_to_group(ik_wire_t *wire, size_t index)
{
    if ((wire->group_count & (wire->group_count - 1)) == 0) { /* 0, 1, 2, 4, 8 …: full */
        size_t capacity = wire->group_count == 0 ? 1 : 2 * wire->group_count;
        wire->group = ik_resize_array(wire, wire->group, ik_msg_t *, capacity);
        wire->group_index = ik_resize_array(wire, wire->group_index, size_t, capacity);
    }
    wire->group[wire->group_count] = wire->conversation->messages[index];
    wire->group_index[wire->group_count++] = index;
}

static void write_group(ik_wire_t *wire, const ik_request_t *request)
{
    if (wire->group_count > 0) {
        request->target->provider->format_group(wire, request, wire->group, wire->group_count);
    }
}

static void begin_group(ik_wire_t *wire)
{
    wire->group_count = 0;
    wire->group_offset = wire->messages.len;
    wire->group_results = wire->results;
}

/* Takes the last group back: it has more messages now. */
static void reopen_group(ik_wire_t *wire)
{
    wire->messages.len = wire->group_offset;
    wire->results = wire->group_results;
    if (wire->messages.data != NULL) {
        wire->messages.data[wire->messages.len] = '\0';
    }
    wire->mark = wire->previous_mark = SIZE_MAX;
}

static void append_new(ik_wire_t *wire, const ik_request_t *request)
{
    bool open = false; /* the group holds something that is not written yet */
    for (; wire->done < request->conversation->count; wire->done++) {
        side_t side = side_of(request->conversation->messages[wire->done]);
        if (side == NEITHER) {
            continue;
        }
        if (side != group_side(wire)) {
            if (open) {
                write_group(wire, request);
            }
            begin_group(wire);
        } else if (!open) {
            reopen_group(wire);
        }
        add_to_group(wire, wire->done);
        open = true;
    }
    if (open) {
        write_group(wire, request);
    }
}

/* --- starting over ----------------------------------------------------------------------- */

/* The messages of the model's side from index on that belong to one step. */
static size_t step_at(const ik_conversation_t *conversation, size_t index)
{
    size_t end = index + 1;
    while (end < conversation->count && side_of(conversation->messages[end]) == MODEL_SIDE &&
           !begins_step(conversation->messages[end])) {
        end++;
    }
    return end - index;
}

/* Whether everything before this message must go without reasoning: another model spoke, a step
 * lost something, or (where reasoning is bound to it) what precedes was changed. */
static bool voids_reasoning(const ik_request_t *request, size_t index)
{
    ik_msg_t *const *message = request->conversation->messages + index;
    if (ik_msg_is(*message, IK_MSG_COMPACTION) || ik_msg_is(*message, IK_MSG_SYSTEM)) {
        return request->target->provider->reasoning_is_bound;
    }
    if (side_of(*message) != MODEL_SIDE || !begins_step(*message)) {
        return false;
    }
    ik_json_span_t step;
    return !is_own_step(*message, request) ||
           (ik_msg_field(*message, "step", &step) &&
            !step_fits(message, step_at(request->conversation, index)));
}

static size_t find_reasoning_from(const ik_request_t *request)
{
    size_t index = request->conversation->count;
    if (request->drop_reasoning) {
        return SIZE_MAX;
    }
    while (index > 0 && !voids_reasoning(request, index - 1)) {
        index--;
    }
    return index;
}

static bool is_outdated(const ik_wire_t *wire, const ik_request_t *request)
{
    return !wire->begun || wire->conversation != request->conversation ||
           wire->trimmed_results != request->trimmed_results ||
           wire->drop_reasoning != request->drop_reasoning || wire->refused != request->refused ||
           wire->done > request->conversation->count;
}

static void start_over(ik_wire_t *wire, const ik_request_t *request)
{
    wire->conversation = request->conversation;
    wire->trimmed_results = request->trimmed_results;
    wire->drop_reasoning = request->drop_reasoning;
    wire->refused = request->refused;
    wire->begun = true;
    wire->done = wire->results = 0;
    wire->tools.len = wire->messages.len = 0;
    wire->mark = wire->previous_mark = SIZE_MAX;
    wire->reasoning_from = find_reasoning_from(request);
    begin_group(wire);
    if (request->tool_count > 0) {
        request->target->provider->format_tools(&wire->tools, request);
    }
}

/* --- the body ---------------------------------------------------------------------------- */

ik_wire_t *ik_wire_create(const void *ctx)
{
    ik_wire_t *wire = ik_new(ctx, ik_wire_t);
    ik_buffer_init(&wire->tools, wire, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&wire->head, wire, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&wire->messages, wire, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&wire->tail, wire, IK_BUFFER_UNLIMITED);
    wire->mark = wire->previous_mark = SIZE_MAX;
    return wire;
}

static void add_part(ik_wire_body_t *body, const char *bytes, size_t len)
{
    if (len > 0) {
        body->parts[body->count++] = (ik_http_part_t){bytes, len};
        body->total += len;
    }
}

/* The messages with the member inserted at each mark. */
static void add_messages(const ik_wire_t *wire, ik_wire_body_t *body)
{
    size_t marks[] = {wire->previous_mark, wire->mark};
    size_t at = 0;
    for (size_t i = 0; i < 2; i++) {
        if (wire->mark_member != NULL && marks[i] != SIZE_MAX && marks[i] > at) {
            add_part(body, wire->messages.data + at, marks[i] - at);
            add_part(body, wire->mark_member, strlen(wire->mark_member));
            at = marks[i];
        }
    }
    add_part(body, wire->messages.data + at, wire->messages.len - at);
}

void ik_wire_format(ik_wire_t *wire, const ik_request_t *request, ik_wire_body_t *body)
{
    const ik_provider_t *provider = request->target->provider;
    if (is_outdated(wire, request)) {
        start_over(wire, request);
    }
    size_t old_mark = wire->mark;
    append_new(wire, request);
    if (wire->mark != old_mark && wire->mark != SIZE_MAX) {
        wire->previous_mark = old_mark < wire->mark ? old_mark : SIZE_MAX;
    }
    wire->head.len = wire->tail.len = 0;
    provider->format_head(&wire->head, request,
                          (ik_json_span_t){wire->tools.data, wire->tools.len});
    provider->format_tail(&wire->tail, request);
    *body = (ik_wire_body_t){0};
    add_part(body, wire->head.data, wire->head.len);
    add_messages(wire, body);
    add_part(body, wire->tail.data, wire->tail.len);
}

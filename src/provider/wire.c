#include "provider/wire.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/json_clean.h"
#include "provider/key_mask.h"
#include "provider/words.h"

enum { REST_MIN = 256 * 1024 }; /* less is not worth writing again */

/* --- sides ------------------------------------------------------------------------------- */

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

/* --- ids --------------------------------------------------------------------------------- */

static bool find_id(const ik_msg_t *message, ik_json_span_t *literal)
{
    const char *name = ik_msg_is(message, IK_MSG_TOOL_CALL) ? "id" : "tool_call_id";
    return ik_msg_field(message, name, literal) && ik_json_kind(*literal) == IK_JSON_STRING;
}

static bool is_from_provider(const ik_request_t *request, const ik_msg_t *message)
{
    ik_json_span_t provider;
    return ik_msg_field(message, "provider", &provider) &&
           ik_json_is_text(provider, request->target->config->name);
}

/* Whether the provider gets the id back as it gave it. */
static bool keeps_id(const ik_request_t *request, const ik_msg_t *message)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    enum { ID_MAX = 64 };
    ik_json_span_t id;
    return is_from_provider(request, message) && find_id(message, &id) && id.len > 2 &&
           id.len <= ID_MAX + 2 &&
           (request->target->provider->takes_any_id || strspn(id.text + 1, plain) == id.len - 2);
}

bool ik_wire_is_own_id(const ik_request_t *request, const ik_msg_t *message)
{
    static const char made_up[] = "\"ik_";
    ik_json_span_t id;
    return keeps_id(request, message) && find_id(message, &id) &&
           strncmp(id.text, made_up, sizeof(made_up) - 1) != 0;
}

/* The same nine for the same id, so that call and result meet again. */
static void append_nine(ik_buffer_t *out, ik_json_span_t literal)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    size_t len;
    char *text = ik_json_decode(NULL, literal, &len);
    uint64_t hash = ik_hash_bytes(text, len);
    char id[] = "\".........\"";
    for (size_t i = 1; i <= 9; i++) {
        id[i] = digits[hash % 62];
        hash /= 62;
    }
    ik_buffer_append_text(out, id);
    talloc_free(text);
}

void ik_wire_append_id(ik_buffer_t *out, const ik_request_t *request, const ik_msg_t *message,
                       bool nine)
{
    ik_json_span_t literal;
    if (!find_id(message, &literal)) {
        literal = (ik_json_span_t){"\"\"", 2};
    }
    if (!nine && keeps_id(request, message)) {
        ik_buffer_append(out, literal.text, literal.len);
    } else {
        append_nine(out, literal);
    }
}

/* --- objects in strings ------------------------------------------------------------------ */

/* The object that a string literal holds, as every server takes it; len 0: none. */
typedef struct {
    char *text; /* holds the object; to be freed */
    ik_json_span_t object;
    bool as_written;
} content_t;

static content_t find_object(char *text, size_t len)
{
    content_t content = {.text = text, .as_written = true};
    if (!ik_json_scan(content.text, len, &content.object, NULL) ||
        ik_json_kind(content.object) != IK_JSON_OBJECT) {
        content.object = (ik_json_span_t){0};
    } else if (!ik_json_is_clean(content.object)) {
        ik_buffer_t clean;
        ik_buffer_init(&clean, content.text, IK_BUFFER_UNLIMITED);
        ik_json_append_clean(&clean, content.object);
        content.object = (ik_json_span_t){clean.data, clean.len};
        content.as_written = false;
    }
    return content;
}

/* A call's arguments, as the model wrote them; what is no object is none. */
static content_t decode_arguments(const ik_msg_t *call)
{
    static const ik_json_span_t none = {"\"\"", 2};
    ik_json_span_t literal;
    size_t len;
    bool found = ik_msg_call_field(call, "arguments", &literal);
    char *text = ik_json_decode(NULL, found ? literal : none, &len);
    return find_object(text, len);
}

/* A result's envelope, the words in it cleaned. */
static content_t decode_output(ik_json_span_t literal)
{
    size_t len;
    char *text = ik_words_decode(NULL, literal, &len);
    return find_object(text, len);
}

/* --- what is sent of a step -------------------------------------------------------------- */

/* The first message of a step says which model made it. */
static bool begins_step(const ik_msg_t *message)
{
    ik_json_span_t model;
    return ik_msg_field(message, "model", &model) && ik_json_kind(model) == IK_JSON_STRING;
}

static bool is_own_step(const ik_msg_t *first, const ik_request_t *request)
{
    ik_json_span_t model;
    return ik_msg_field(first, "model", &model) && ik_json_is_text(model, request->target->name);
}

/* Whether a call can be the one its provider knows: the id goes back as it came, and so do the
 * arguments. */
static bool call_fits(const ik_request_t *request, const ik_msg_t *call, ik_json_span_t stored_id)
{
    ik_json_span_t id;
    if (!keeps_id(request, call) || !find_id(call, &id) || stored_id.len != id.len ||
        memcmp(stored_id.text, id.text, id.len) != 0) {
        return false;
    }
    if (call->clean) {
        return true;
    }
    content_t arguments = decode_arguments(call);
    bool fits = arguments.object.len > 0 && arguments.as_written;
    talloc_free(arguments.text);
    return fits;
}

/* Whether the messages are as many as the step was stored with, and its calls the same. Messages
 * of neither side may stand among them. */
static bool step_fits(const ik_request_t *request, ik_msg_t *const *messages, size_t count)
{
    ik_json_span_t ids;
    ik_json_span_t id;
    size_t position = 0;
    int64_t answers = 0;
    if (!ik_msg_field(messages[0], "calls", &ids) || ik_json_kind(ids) != IK_JSON_ARRAY) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        answers += side_of(messages[i]) == MODEL_SIDE;
        if (ik_msg_is(messages[i], IK_MSG_TOOL_CALL) &&
            (!ik_json_next_element(ids, &position, &id) || !call_fits(request, messages[i], id))) {
            return false;
        }
    }
    return !ik_json_next_element(ids, &position, &id) &&
           ik_msg_field_number(messages[0], "step", 0) == answers;
}

/* What the provider left for itself: data_json.PROVIDER.WIRE */
static bool find_private(const ik_msg_t *first, const ik_request_t *request, ik_json_span_t *value)
{
    ik_json_span_t own;
    return ik_msg_field(first, request->target->config->name, &own) &&
           ik_json_kind(own) == IK_JSON_OBJECT &&
           ik_json_find(own, request->target->provider->name, value);
}

/* The messages from the first on that belong to its step. */
static size_t step_length(ik_msg_t *const *messages, size_t count)
{
    size_t len = 1;
    while (len < count && side_of(messages[len]) != USER_SIDE && !begins_step(messages[len])) {
        len++;
    }
    return len;
}

bool ik_wire_next_step(ik_wire_t *wire, const ik_request_t *request, ik_msg_t *const *messages,
                       size_t count, size_t *position, ik_wire_step_t *step)
{
    if (*position >= count) {
        return false;
    }
    ik_msg_t *const *first = messages + *position;
    *step = (ik_wire_step_t){.messages = first, .count = step_length(first, count - *position)};
    /* from there on every step that has private data was found to fit it */
    ik_json_span_t said;
    bool fits = wire->group_index[first - wire->group] >= wire->reasoning_from &&
                begins_step(*first) && ik_msg_field(*first, "step", &said);
    if (!fits || !find_private(*first, request, &step->private_json)) {
        step->private_json = (ik_json_span_t){0};
    }
    ik_key_unmask_json(&wire->unmasked, &step->private_json, request->target->config->api_key);
    *position += step->count;
    return true;
}

bool ik_wire_tells_calls(const ik_wire_t *wire, const ik_request_t *request,
                         ik_msg_t *const *message)
{
    return wire->group_index[message - wire->group] < request->calls_as_text;
}

const ik_msg_t *ik_wire_next_call(const ik_wire_step_t *step, size_t *position)
{
    while (*position < step->count) {
        const ik_msg_t *message = step->messages[(*position)++];
        if (ik_msg_is(message, IK_MSG_TOOL_CALL)) {
            return message;
        }
    }
    return NULL;
}

/* --- pieces ------------------------------------------------------------------------------ */

ik_buffer_t *ik_wire_begin_element(ik_wire_t *wire)
{
    if (wire->messages.len > 0) {
        ik_buffer_append_byte(&wire->messages, ',');
    }
    return &wire->messages;
}

void ik_wire_append_arguments(ik_buffer_t *out, const ik_msg_t *call)
{
    content_t arguments = decode_arguments(call);
    if (arguments.object.len > 0) {
        ik_buffer_append(out, arguments.object.text, arguments.object.len);
    } else {
        ik_buffer_append_text(out, "{}");
    }
    talloc_free(arguments.text);
}

void ik_wire_append_arguments_text(ik_buffer_t *out, const ik_msg_t *call)
{
    ik_json_span_t literal;
    if (call->clean && ik_msg_call_field(call, "arguments", &literal)) {
        ik_buffer_append(out, literal.text, literal.len);
        return;
    }
    content_t arguments = decode_arguments(call);
    if (arguments.object.len == 0) {
        ik_buffer_append_text(out, "\"{}\"");
    } else if (arguments.as_written && ik_msg_call_field(call, "arguments", &literal)) {
        ik_buffer_append(out, literal.text, literal.len);
    } else {
        ik_json_append_string(out, arguments.object.text, arguments.object.len);
    }
    talloc_free(arguments.text);
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
    if (!take_output(wire, request, result, &literal)) {
        ik_json_append_text(out, ik_conversation_trimmed_envelope);
    } else if (literal.len == 2) { /* not every server takes an empty one */
        ik_buffer_append_text(out, "\"(no output)\"");
    } else {
        ik_words_append_literal(out, literal);
    }
}

static void append_object(ik_buffer_t *out, ik_json_span_t literal)
{
    content_t output = decode_output(literal);
    if (output.object.len > 0) {
        ik_buffer_append(out, output.object.text, output.object.len);
    } else {
        ik_buffer_append_text(out, "{\"output\":");
        ik_words_append_literal(out, literal);
        ik_buffer_append_byte(out, '}');
    }
    talloc_free(output.text);
}

void ik_wire_append_output(ik_wire_t *wire, const ik_request_t *request, ik_buffer_t *out,
                           const ik_msg_t *result)
{
    ik_json_span_t literal;
    if (!take_output(wire, request, result, &literal)) {
        ik_buffer_append_text(out, ik_conversation_trimmed_envelope);
    } else if (result->clean && !ik_words_may_be_unclean(literal.text, literal.len)) {
        ik_json_append_decoded(out, literal);
    } else {
        append_object(out, literal);
    }
}

/* --- whose reasoning counts --------------------------------------------------------------- */

/* Whether the message before, one of either side, is of the model's. */
static bool follows_answer(const ik_conversation_t *conversation, size_t index)
{
    while (index > 0 && side_of(conversation->messages[index - 1]) == NEITHER) {
        index--;
    }
    return index > 0 && side_of(conversation->messages[index - 1]) == MODEL_SIDE;
}

static bool has_calls(ik_msg_t *const *messages, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ik_msg_is(messages[i], IK_MSG_TOOL_CALL)) {
            return true;
        }
    }
    return false;
}

/* Whether a step is not what its provider knows: another model made it, or it lost something. */
static bool is_damaged(const ik_request_t *request, size_t index)
{
    ik_msg_t *const *first = request->conversation->messages + index;
    size_t count = step_length(first, request->conversation->count - index);
    ik_json_span_t value;
    if (!is_own_step(*first, request)) {
        return true;
    }
    if (!ik_msg_field(*first, "step", &value)) {
        return request->target->provider->reasons_for_every_call && has_calls(first, count);
    }
    return !step_fits(request, first, count) || !find_private(*first, request, &value) ||
           !ik_json_is_clean(value);
}

/* Whether everything before this message must go without reasoning: a step is damaged or nobody
 * knows whose it is, or (where reasoning is bound to it) what precedes was changed. */
static bool voids_reasoning(const ik_request_t *request, size_t index)
{
    const ik_msg_t *message = request->conversation->messages[index];
    if (ik_msg_is(message, IK_MSG_COMPACTION) || ik_msg_is(message, IK_MSG_SYSTEM)) {
        return request->target->provider->reasoning_is_bound;
    }
    if (side_of(message) != MODEL_SIDE) {
        return false;
    }
    return begins_step(message) ? is_damaged(request, index)
                                : !follows_answer(request->conversation, index);
}

static size_t find_reasoning_from(const ik_request_t *request)
{
    size_t index = request->conversation->count;
    while (index > request->drop_reasoning && !voids_reasoning(request, index - 1)) {
        index--;
    }
    return index;
}

/* --- groups ------------------------------------------------------------------------------ */

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

/* Takes the last group back, and the marks in it: it has more messages now. */
static void reopen_group(ik_wire_t *wire)
{
    wire->messages.len = wire->group_offset;
    wire->results = wire->group_results;
    if (wire->messages.data != NULL) {
        wire->messages.data[wire->messages.len] = '\0';
    }
    wire->mark = wire->previous_mark = SIZE_MAX;
}

/* An answer without words is there for what its provider wants back; to anyone else it would be an
 * empty message. */
static bool is_silent(const ik_wire_t *wire, const ik_request_t *request, size_t index)
{
    const ik_conversation_t *conversation = request->conversation;
    const ik_msg_t *message = conversation->messages[index];
    ik_json_span_t value;
    return ik_msg_is(message, IK_MSG_ASSISTANT) && ik_msg_text_is_blank(message->content) &&
           (index < wire->reasoning_from || is_damaged(request, index) ||
            !find_private(message, request, &value));
}

static void append_until(ik_wire_t *wire, const ik_request_t *request, size_t limit)
{
    bool open = false; /* the group holds something that is not written yet */
    for (; wire->done < limit; wire->done++) {
        side_t side = side_of(request->conversation->messages[wire->done]);
        if (side == NEITHER || is_silent(wire, request, wire->done)) {
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

/* Whether something new takes the reasoning from what is already written. */
static bool news_void_reasoning(const ik_wire_t *wire, const ik_request_t *request)
{
    for (size_t i = wire->done; i < request->conversation->count; i++) {
        if (voids_reasoning(request, i)) {
            return true;
        }
    }
    return false;
}

static bool is_outdated(const ik_wire_t *wire, const ik_request_t *request)
{
    return !wire->begun || wire->conversation != request->conversation ||
           wire->trimmed_results != request->trimmed_results ||
           wire->drop_reasoning != request->drop_reasoning ||
           wire->calls_as_text != request->calls_as_text || wire->refused != request->refused ||
           wire->tool_count != request->tool_count || wire->done > request->conversation->count ||
           news_void_reasoning(wire, request);
}

static void begin_messages(ik_wire_t *wire)
{
    wire->rests = false;
    wire->done = wire->results = 0;
    wire->messages.len = 0;
    wire->mark = wire->previous_mark = SIZE_MAX;
    begin_group(wire);
}

void ik_wire_rest(ik_wire_t *wire)
{
    if (wire->messages.len >= REST_MIN) {
        ik_buffer_reset(&wire->messages);
        wire->rests = true;
    }
}

static void take_up(ik_wire_t *wire, const ik_request_t *request)
{
    size_t written = wire->done;
    begin_messages(wire);
    append_until(wire, request, written);
}

static void start_over(ik_wire_t *wire, const ik_request_t *request)
{
    wire->conversation = request->conversation;
    wire->trimmed_results = request->trimmed_results;
    wire->drop_reasoning = request->drop_reasoning;
    wire->calls_as_text = request->calls_as_text;
    wire->tool_count = request->tool_count;
    wire->refused = request->refused;
    wire->begun = true;
    wire->tools.len = 0;
    wire->reasoning_from = find_reasoning_from(request);
    begin_messages(wire);
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
    ik_buffer_init(&wire->unmasked, wire, IK_BUFFER_UNLIMITED);
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
    static const char end[] = "]}";
    const ik_provider_t *provider = request->target->provider;
    if (is_outdated(wire, request)) {
        start_over(wire, request);
    }
    if (wire->rests) {
        take_up(wire, request);
    }
    if (wire->done < request->conversation->count) {
        wire->previous_mark = wire->mark;
    }
    append_until(wire, request, request->conversation->count);
    wire->head.len = 0;
    provider->format_head(&wire->head, request,
                          (ik_json_span_t){wire->tools.data, wire->tools.len});
    *body = (ik_wire_body_t){0};
    add_part(body, wire->head.data, wire->head.len);
    add_messages(wire, body);
    add_part(body, end, sizeof(end) - 1);
}

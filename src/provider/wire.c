#include "provider/wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/image.h"
#include "base/json_clean.h"
#include "provider/key_mask.h"
#include "provider/wire_image.h"
#include "provider/words.h"

enum {
    DROP_MIN = 256 * 1024, /* freeing less is not worth serialising it again */
    BYTES_PER_TOKEN = 4,
};

/* --- ids --------------------------------------------------------------------------------- */

/* What a call or result says about its id; len 0: not said. */
typedef struct {
    ik_json_span_t id;
    ik_json_span_t provider; /* that gave it */
} call_id_t;

static call_id_t find_id(const ik_msg_t *message)
{
    const char *names[] = {ik_msg_is(message, IK_MSG_TOOL_CALL) ? "id" : "tool_call_id",
                           "provider"};
    ik_json_span_t values[2];
    ik_msg_find_fields((ik_json_span_t){message->data_json, message->data_len}, names, 2, values);
    bool usable = ik_json_is(values[0], IK_JSON_STRING);
    return (call_id_t){.id = usable ? values[0] : (ik_json_span_t){0}, .provider = values[1]};
}

/* Whether this provider gave the id and gets it back unchanged. */
static bool keeps_id(const ik_request_t *request, call_id_t found)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    enum { ID_MAX = 64 };
    ik_json_span_t id = found.id;
    return ik_json_is_text(found.provider, request->target->config->name) && id.len > 2 &&
           id.len <= ID_MAX + 2 &&
           (request->target->provider->takes_any_id || strspn(id.text + 1, plain) == id.len - 2);
}

bool ik_wire_is_own_id(const ik_request_t *request, const ik_msg_t *message)
{
    static const char made_up[] = "\"ik_";
    call_id_t found = find_id(message);
    return keeps_id(request, found) && strncmp(found.id.text, made_up, sizeof(made_up) - 1) != 0;
}

/* The nine characters are a hash of the id, so that a call and its result get the same ones. */
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
    call_id_t found = find_id(message);
    if (!nine && keeps_id(request, found)) {
        ik_buffer_append(out, found.id.text, found.id.len);
    } else {
        append_nine(out, found.id.len > 0 ? found.id : (ik_json_span_t){"\"\"", 2});
    }
}

/* --- objects in strings ------------------------------------------------------------------ */

/* The JSON object that a string literal holds, made valid for every server. */
typedef struct {
    char *text;            /* owns the object; the caller frees it */
    ik_json_span_t object; /* len 0: the literal holds no object */
    bool as_written;       /* nothing had to be changed */
} content_t;

static content_t find_object(char *text, size_t len)
{
    content_t content = {.text = text, .as_written = true};
    if (!ik_json_scan(content.text, len, &content.object, NULL) ||
        ik_json_kind(content.object) != IK_JSON_OBJECT) {
        content.object = (ik_json_span_t){0};
    } else if (!ik_json_is_clean(content.object)) {
        ik_buffer_t clean;
        ik_buffer_init(&clean, content.text, IK_BUFFER_UNLIMITED); /* bounded by the text */
        ik_json_append_clean(&clean, content.object);
        content.object = (ik_json_span_t){clean.data, clean.len};
        content.as_written = false;
    }
    return content;
}

/* A call's arguments; a missing literal counts as an empty one. */
static content_t decode_arguments(const ik_msg_t *call)
{
    static const ik_json_span_t none = {"\"\"", 2};
    ik_json_span_t literal;
    size_t len;
    bool found = ik_msg_call_field(call, "arguments", &literal);
    char *text = ik_json_decode(NULL, found ? literal : none, &len);
    return find_object(text, len);
}

/* --- what is sent of a step -------------------------------------------------------------- */

/* Whether the call goes back as its provider sent it: with its id and arguments unchanged. */
static bool call_fits(const ik_request_t *request, const ik_msg_t *call, ik_json_span_t stored_id)
{
    call_id_t found = find_id(call);
    if (!keeps_id(request, found) || stored_id.len != found.id.len ||
        memcmp(stored_id.text, found.id.text, found.id.len) != 0) {
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

/* What the first message of a step says about it; len 0: not said. */
typedef struct {
    ik_json_span_t model;
    ik_json_span_t length; /* number of its messages, if it has private data */
    ik_json_span_t calls;  /* their ids */
    ik_json_span_t own;    /* data of the provider, for each of its wire formats */
} step_facts_t;

static step_facts_t find_step_facts(const ik_request_t *request, const ik_msg_t *first)
{
    const char *names[] = {"model", "step", "calls", request->target->config->name};
    ik_json_span_t values[4];
    ik_msg_find_fields((ik_json_span_t){first->data_json, first->data_len}, names, 4, values);
    return (step_facts_t){values[0], values[1], values[2], values[3]};
}

/* Whether the step still has all the messages and calls it was stored with. Messages of neither
 * side may stand among them. */
static bool step_fits(const ik_request_t *request, const step_facts_t *facts,
                      ik_msg_t *const *messages, size_t count)
{
    ik_json_span_t ids = facts->calls;
    ik_json_span_t id;
    size_t position = 0;
    int64_t answers = 0;
    if (!ik_json_is(ids, IK_JSON_ARRAY)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        answers += ik_msg_side(messages[i]) == IK_MSG_MODEL_SIDE;
        if (ik_msg_is(messages[i], IK_MSG_TOOL_CALL) &&
            (!ik_json_next_element(ids, &position, &id) || !call_fits(request, messages[i], id))) {
            return false;
        }
    }
    return !ik_json_next_element(ids, &position, &id) &&
           ik_json_is(facts->length, IK_JSON_NUMBER) &&
           strtoll(facts->length.text, NULL, 10) == answers;
}

/* Finds the provider's private data of a step: data_json.PROVIDER.WIRE */
static bool find_private(const ik_request_t *request, const step_facts_t *facts,
                         ik_json_span_t *value)
{
    return ik_json_is(facts->own, IK_JSON_OBJECT) &&
           ik_json_find(facts->own, request->target->provider->name, value);
}

/* How many messages, from the first on, belong to its step. */
static size_t step_length(ik_msg_t *const *messages, size_t count)
{
    size_t len = 1;
    while (len < count && ik_msg_side(messages[len]) != IK_MSG_USER_SIDE &&
           !ik_msg_begins_step(messages[len])) {
        len++;
    }
    return len;
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

/* Whether a step differs from what its provider sent: another model made it, or messages or private
 * data of it are missing. */
static bool is_damaged(const ik_request_t *request, size_t index)
{
    ik_msg_t *const *first = request->conversation->messages + index;
    size_t count = step_length(first, request->conversation->count - index);
    step_facts_t facts = find_step_facts(request, *first);
    ik_json_span_t value;
    if (!ik_json_is_text(facts.model, request->target->name)) {
        return true;
    }
    if (facts.length.len == 0) {
        return request->target->provider->reasons_for_every_call && has_calls(first, count);
    }
    return !step_fits(request, &facts, first, count) || !find_private(request, &facts, &value) ||
           !ik_json_is_clean(value);
}

/* Whether the message at index may be sent with its private data. */
static bool keeps_reasoning(const ik_wire_t *wire, const ik_request_t *request, size_t index)
{
    return index >= wire->reasoning_from && (!request->target->provider->reasoning_is_bound ||
                                             !ik_wire_image_changed_before(wire, index));
}

bool ik_wire_next_step(ik_wire_t *wire, const ik_request_t *request, ik_msg_t *const *messages,
                       size_t count, size_t *position, ik_wire_step_t *step)
{
    if (*position >= count) {
        return false;
    }
    ik_msg_t *const *first = messages + *position;
    *step = (ik_wire_step_t){.messages = first, .count = step_length(first, count - *position)};
    /* From reasoning_from on, is_damaged has checked every step that has private data, unless steps
     * are separate. */
    step_facts_t facts = find_step_facts(request, *first);
    size_t index = wire->group_index[first - wire->group];
    bool valid = keeps_reasoning(wire, request, index) && ik_json_is(facts.model, IK_JSON_STRING) &&
                 facts.length.len > 0 &&
                 !(request->target->provider->reasoning_is_separate && is_damaged(request, index));
    if (!valid || !find_private(request, &facts, &step->private_json)) {
        step->private_json = (ik_json_span_t){0};
    }
    ik_key_unmask_json(&wire->unmasked, &step->private_json, request->target->config->api_key);
    *position += step->count;
    return true;
}

bool ik_wire_has_calls_as_text(const ik_wire_t *wire, const ik_request_t *request,
                               ik_msg_t *const *message)
{
    return wire->group_index[message - wire->group] < request->calls_as_text;
}

bool ik_wire_has_refused_reasoning(const ik_wire_t *wire, const ik_request_t *request,
                                   ik_msg_t *const *message)
{
    return wire->group_index[message - wire->group] < request->drop_reasoning;
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

/* Counts the result and finds its output; false when the trimming marker is sent instead. */
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
    } else if (literal.len == 2) { /* some servers refuse an empty result */
        ik_buffer_append_text(out, "\"(no output)\"");
    } else {
        ik_words_append_literal(out, literal);
    }
}

static void append_object(ik_buffer_t *out, ik_json_span_t literal)
{
    size_t len;
    char *text = ik_words_decode(NULL, literal, &len);
    content_t output = find_object(text, len);
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

/* --- whose reasoning is valid ------------------------------------------------------------- */

/* Whether the message before, skipping those of neither side, is the model's. */
static bool follows_answer(const ik_conversation_t *conversation, size_t index)
{
    while (index > 0 && ik_msg_side(conversation->messages[index - 1]) == IK_MSG_NEITHER) {
        index--;
    }
    return index > 0 && ik_msg_side(conversation->messages[index - 1]) == IK_MSG_MODEL_SIDE;
}

/* Whether the model binds reasoning to tools and system prompt. Models that think within a budget
 * do not, and want the reasoning of their whole turn back. */
static bool binds_prefix(const ik_request_t *request)
{
    return request->target->provider->reasoning_is_bound &&
           request->target->facts->thinking != IK_MODEL_THINKING_BUDGET;
}

/* The prefix of a request with the tools that the wire has: a number that JSON keeps exactly. */
static int64_t hash_prefix(const ik_wire_t *wire, const ik_request_t *request)
{
    const char *system = request->system == NULL ? "" : request->system;
    if (!binds_prefix(request)) {
        return 0;
    }
    uint64_t hash = wire->tools_hash * 31 + ik_hash_bytes(system, strlen(system));
    return (int64_t)(hash >> 12 | 1);
}

/* Whether a step was made with other tools or another system prompt. */
static bool has_other_prefix(const ik_wire_t *wire, const ik_msg_t *first)
{
    int64_t prefix = wire->prefix == 0 ? 0 : ik_msg_field_number(first, "prefix", wire->prefix);
    return prefix != wire->prefix;
}

/* Whether this message makes all reasoning before it invalid: it begins a damaged step or one of
 * unknown origin, or (for providers that bind reasoning to what precedes it) it is a compaction, a
 * system message or the begin of a step with another prefix. */
static bool voids_reasoning(const ik_wire_t *wire, const ik_request_t *request, size_t index)
{
    const ik_msg_t *message = request->conversation->messages[index];
    if (ik_msg_is_image_drop(message)) {
        return false; /* see ik_wire_image_changed_before */
    }
    if (ik_msg_is(message, IK_MSG_COMPACTION) || ik_msg_is(message, IK_MSG_SYSTEM)) {
        return request->target->provider->reasoning_is_bound;
    }
    if (ik_msg_side(message) != IK_MSG_MODEL_SIDE ||
        request->target->provider->reasoning_is_separate) {
        return false;
    }
    return ik_msg_begins_step(message)
               ? is_damaged(request, index) || has_other_prefix(wire, message)
               : !follows_answer(request->conversation, index);
}

/* --- groups ------------------------------------------------------------------------------ */

static void add_to_group(ik_wire_t *wire, ik_msg_t *message, size_t index)
{
    if ((wire->group_count & (wire->group_count - 1)) == 0) { /* full at 0, 1, 2, 4, 8 … */
        size_t capacity = wire->group_count == 0 ? 1 : 2 * wire->group_count;
        wire->group = ik_resize_array(wire, wire->group, ik_msg_t *, capacity);
        wire->group_index = ik_resize_array(wire, wire->group_index, size_t, capacity);
    }
    wire->group[wire->group_count] = message;
    wire->group_index[wire->group_count++] = index;
}

static void write_group(ik_wire_t *wire, const ik_request_t *request)
{
    if (wire->group_count > 0) {
        wire->group_images = 0;
        while (wire->group_images < wire->image_count &&
               wire->images[wire->group_images].message < wire->group_index[0]) {
            wire->group_images++;
        }
        request->target->provider->format_group(wire, request, wire->group, wire->group_count);
    }
}

static void begin_group(ik_wire_t *wire)
{
    wire->group_count = 0;
    wire->group_offset = wire->messages.len;
    wire->group_results = wire->results;
}

/* Removes the text of the last group and its marks, because more messages join it. */
static void reopen_group(ik_wire_t *wire)
{
    wire->messages.len = wire->group_offset;
    wire->results = wire->group_results;
    if (wire->messages.data != NULL) {
        wire->messages.data[wire->messages.len] = '\0';
    }
    wire->mark = wire->previous_mark = SIZE_MAX;
}

/* An answer without text is kept only for its private data; without valid private data it would be
 * an empty message. */
static bool is_silent(const ik_wire_t *wire, const ik_request_t *request, size_t index)
{
    const ik_conversation_t *conversation = request->conversation;
    const ik_msg_t *message = conversation->messages[index];
    ik_json_span_t value;
    if (!ik_msg_is(message, IK_MSG_ASSISTANT) || !ik_msg_text_is_blank(message->content)) {
        return false;
    }
    step_facts_t facts = find_step_facts(request, message);
    return !keeps_reasoning(wire, request, index) || is_damaged(request, index) ||
           !find_private(request, &facts, &value);
}

/* Makes room for all messages at once, where there is none yet; data is most of what is written. */
static void reserve(ik_wire_t *wire, const ik_request_t *request)
{
    size_t room = 0;
    for (size_t i = 0; wire->messages.data == NULL && i < request->conversation->count; i++) {
        room += request->conversation->messages[i]->data_len;
    }
    ik_buffer_reserve(&wire->messages, room);
}

static void append_until(ik_wire_t *wire, const ik_request_t *request, size_t limit)
{
    bool open = false; /* the group holds messages that are not written yet */
    for (; wire->done < limit; wire->done++) {
        ik_msg_side_t side = ik_msg_side(request->conversation->messages[wire->done]);
        if (side == IK_MSG_NEITHER || is_silent(wire, request, wire->done)) {
            continue;
        }
        if (wire->group_count == 0 || side != ik_msg_side(wire->group[0])) {
            if (open) {
                write_group(wire, request);
            }
            begin_group(wire);
        } else if (!open) {
            reopen_group(wire);
        }
        add_to_group(wire, request->conversation->messages[wire->done], wire->done);
        open = true;
    }
    if (open) {
        write_group(wire, request);
    }
}

/* Writes the closing message as if the conversation ended with it. What was written before keeps
 * its bytes and its marks; the next request is made from the conversation again. */
static void append_closing(ik_wire_t *wire, const ik_request_t *request)
{
    size_t previous_mark = wire->previous_mark;
    size_t mark = wire->mark;
    if (wire->group_count > 0 && ik_msg_side(wire->group[0]) == IK_MSG_USER_SIDE) {
        reopen_group(wire);
    } else {
        begin_group(wire);
    }
    add_to_group(wire, request->closing, request->conversation->count);
    write_group(wire, request);
    wire->previous_mark = previous_mark;
    wire->mark = mark;
    wire->dropped = true;
}

/* --- starting over ----------------------------------------------------------------------- */

/* Whether a new message makes reasoning invalid that is already written. */
static bool new_messages_void_reasoning(const ik_wire_t *wire, const ik_request_t *request)
{
    for (size_t i = wire->done; i < request->conversation->count; i++) {
        if (voids_reasoning(wire, request, i)) {
            return true;
        }
    }
    return false;
}

/* Plans the images in any case. */
static bool is_outdated(ik_wire_t *wire, const ik_request_t *request)
{
    bool other = !wire->begun || wire->conversation != request->conversation ||
                 wire->done > request->conversation->count;
    if (other) {
        ik_wire_image_reset(wire);
    }
    return ik_wire_image_plan(wire, request) || other ||
           wire->trimmed_results != request->trimmed_results ||
           wire->drop_reasoning != request->drop_reasoning ||
           wire->calls_as_text != request->calls_as_text || wire->refused != request->refused ||
           wire->tool_count != request->tool_count || wire->tool_key != request->tool_key ||
           wire->prefix != hash_prefix(wire, request) || new_messages_void_reasoning(wire, request);
}

static void begin_messages(ik_wire_t *wire)
{
    wire->dropped = false;
    wire->done = wire->results = 0;
    wire->messages.len = 0;
    wire->mark = wire->previous_mark = SIZE_MAX;
    begin_group(wire);
}

void ik_wire_drop(ik_wire_t *wire)
{
    if (wire->messages.len >= DROP_MIN) {
        ik_buffer_reset(&wire->messages);
        wire->dropped = true;
    }
}

static void start_over(ik_wire_t *wire, const ik_request_t *request)
{
    wire->conversation = request->conversation;
    wire->trimmed_results = request->trimmed_results;
    wire->drop_reasoning = request->drop_reasoning;
    wire->calls_as_text = request->calls_as_text;
    wire->tool_count = request->tool_count;
    wire->tool_key = request->tool_key;
    wire->refused = request->refused;
    wire->begun = true;
    wire->tools.len = 0;
    if (request->tool_count > 0) {
        request->target->provider->format_tools(&wire->tools, request);
    }
    wire->tools_hash = ik_hash_bytes(wire->tools.data, wire->tools.len);
    wire->prefix = hash_prefix(wire, request);
    wire->reasoning_from = request->conversation->count;
    while (wire->reasoning_from > request->drop_reasoning &&
           !voids_reasoning(wire, request, wire->reasoning_from - 1)) {
        wire->reasoning_from--;
    }
    begin_messages(wire);
}

/* --- the body ---------------------------------------------------------------------------- */

ik_wire_t *ik_wire_create(const void *ctx)
{
    ik_wire_t *wire = ik_new(ctx, ik_wire_t);
    /* All are bounded by the registered tools and by the conversation, which is in memory too. */
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

/* Adds the messages, with the member inserted at each mark. */
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
    reserve(wire, request);
    if (wire->dropped) {
        size_t done = wire->done;
        size_t previous_mark = wire->previous_mark;
        begin_messages(wire);
        append_until(wire, request, done);
        wire->previous_mark = previous_mark;
    }
    if (wire->done < request->conversation->count) {
        wire->previous_mark = wire->mark;
    }
    append_until(wire, request, request->conversation->count);
    if (request->closing != NULL) {
        append_closing(wire, request);
    }
    wire->head.len = 0;
    provider->format_head(&wire->head, request,
                          (ik_json_span_t){wire->tools.data, wire->tools.len});
    *body = (ik_wire_body_t){0};
    add_part(body, wire->head.data, wire->head.len);
    add_messages(wire, body);
    add_part(body, end, sizeof(end) - 1);
    body->text = body->total;
    for (size_t i = 0; i < wire->image_count; i++) {
        if (wire->images[i].why == NULL) {
            body->text -= ik_image_base64_length(wire->images[i].facts.bytes);
            body->text += (size_t)IK_IMAGE_TOKENS * BYTES_PER_TOKEN;
        }
    }
}

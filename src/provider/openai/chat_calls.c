/*
 * The call to which a fragment belongs:
 *
 *   with an index     the call of that index; an id that differs from that call's opens a new call
 *                     (some servers send index 0 for all), and so does a second complete call
 *   with an id only   the call of that id, or a new one
 *   with a name only  a new one
 *   with none         the last one
 *
 * A second complete call opens a new call although its id is the same, unless it repeats the first.
 *
 * The position inside tool_calls is never an index.
 */
#include "provider/openai/chat_calls.h"

#include <string.h>

#include "base/alloc.h"

typedef struct {
    ik_stream_call_t *call;
    int64_t index;     /* -1: it came without one */
    size_t pieces;     /* how many non-empty pieces of arguments came */
    ik_buffer_t extra; /* extra_content as it came */
} slot_t;

struct ik_chat_calls {
    ik_stream_t *stream;
    slot_t **slots;
    size_t count;
    slot_t *legacy;
};

typedef struct {
    int64_t index; /* -1: none */
    ik_json_span_t id;
    ik_json_span_t name;
    ik_json_span_t arguments;
    ik_json_span_t extra;
} fragment_t;

ik_chat_calls_t *ik_chat_calls_create(ik_stream_t *stream)
{
    ik_chat_calls_t *calls = ik_new(stream, ik_chat_calls_t);
    calls->stream = stream;
    return calls;
}

/* --- finding the call ---------------------------------------------------------------------- */

static slot_t *find_by_id(const ik_chat_calls_t *calls, int64_t index, ik_json_span_t id)
{
    for (size_t i = calls->count; i > 0; i--) {
        slot_t *slot = calls->slots[i - 1];
        const ik_buffer_t *known = &slot->call->given_id;
        if ((index < 0 || slot->index == index) && known->len > 0 &&
            ik_json_key_is(id, known->data)) {
            return slot;
        }
    }
    return NULL;
}

static slot_t *find_by_index(const ik_chat_calls_t *calls, int64_t index)
{
    for (size_t i = calls->count; i > 0; i--) {
        if (calls->slots[i - 1]->index == index) {
            return calls->slots[i - 1];
        }
    }
    return NULL;
}

static bool is_object_text(const char *text, size_t len)
{
    ik_json_span_t value;
    return ik_json_scan(text, len, &value, NULL) && ik_json_kind(value) == IK_JSON_OBJECT;
}

static bool has_whole_arguments(const fragment_t *fragment)
{
    if (!ik_json_has_text(fragment->arguments)) {
        return ik_json_is(fragment->arguments, IK_JSON_OBJECT);
    }
    size_t len;
    char *text = ik_json_decode(NULL, fragment->arguments, &len);
    bool whole = is_object_text(text, len);
    talloc_free(text);
    return whole;
}

/* Whether a complete call follows a complete call, as from servers that send calls in one piece.
 * Only arguments that came in one piece are scanned, so that the cost is linear in their length. */
static bool is_second_call(const slot_t *slot, const fragment_t *fragment)
{
    return slot->pieces == 1 && slot->call->name.len > 0 && ik_json_has_text(fragment->name) &&
           has_whole_arguments(fragment) &&
           is_object_text(slot->call->arguments.data, slot->call->arguments.len);
}

static slot_t *find_with_index(const ik_chat_calls_t *calls, const fragment_t *fragment)
{
    slot_t *last = find_by_index(calls, fragment->index);
    if (last == NULL || !ik_json_has_text(fragment->id)) {
        return last == NULL || is_second_call(last, fragment) ? NULL : last;
    }
    return last->call->given_id.len == 0 ? last : find_by_id(calls, fragment->index, fragment->id);
}

static slot_t *find_without_index(const ik_chat_calls_t *calls, const fragment_t *fragment)
{
    if (ik_json_has_text(fragment->id)) {
        return find_by_id(calls, -1, fragment->id);
    }
    if (ik_json_has_text(fragment->name) || calls->count == 0) {
        return NULL;
    }
    return calls->slots[calls->count - 1];
}

/* Whether a fragment of the slot's id is a complete call like the one that it has: a server sends
 * the call once more. */
static bool is_repetition(const slot_t *slot, const fragment_t *fragment)
{
    const ik_buffer_t *known = &slot->call->arguments;
    size_t len = fragment->arguments.len;
    char *text = ik_json_is(fragment->arguments, IK_JSON_STRING)
                     ? ik_json_decode(NULL, fragment->arguments, &len)
                     : ik_strndup(NULL, fragment->arguments.text, len);
    bool same = ik_json_key_is(fragment->name, slot->call->name.data) && len == known->len &&
                memcmp(text, known->data, len) == 0;
    talloc_free(text);
    return same;
}

/* --- filling it ---------------------------------------------------------------------------- */

/* NULL, and the stream has failed, when there are too many. */
static slot_t *open_slot(ik_chat_calls_t *calls, int64_t index)
{
    if (calls->count == IK_CHAT_CALLS_MAX) {
        ik_stream_fail_size(calls->stream, "the answer has too many tool calls");
        return NULL;
    }
    slot_t *slot = ik_new(calls, slot_t);
    slot->call = ik_stream_add_call(calls->stream);
    slot->index = index;
    ik_buffer_init(&slot->extra, slot, IK_STREAM_MAX);
    calls->slots = ik_resize_array(calls, calls->slots, slot_t *, calls->count + 1);
    calls->slots[calls->count++] = slot;
    return slot;
}

static void take_arguments(ik_chat_calls_t *calls, slot_t *slot, ik_json_span_t arguments)
{
    size_t before = slot->call->arguments.len;
    ik_stream_add_arguments_value(calls->stream, slot->call, arguments);
    slot->pieces += slot->call->arguments.len > before;
}

static void fill(ik_chat_calls_t *calls, slot_t *slot, const fragment_t *fragment)
{
    if (slot->call->given_id.len == 0) {
        ik_stream_append_literal(&slot->call->given_id, fragment->id);
    }
    /* A name may come in pieces until the arguments begin; some servers repeat it instead. */
    ik_buffer_t *name = &slot->call->name;
    if (ik_json_has_text(fragment->name) &&
        (name->len == 0 || (slot->pieces == 0 && !ik_json_key_is(fragment->name, name->data)))) {
        ik_stream_append_literal(name, fragment->name);
    }
    take_arguments(calls, slot, fragment->arguments);
    if (ik_json_is(fragment->extra, IK_JSON_OBJECT)) {
        slot->extra.len = 0;
        ik_buffer_append(&slot->extra, fragment->extra.text, fragment->extra.len);
    }
}

void ik_chat_calls_add(ik_chat_calls_t *calls, ik_json_span_t fragment)
{
    static const char *const names[] = {"index", "id", "function", "extra_content"};
    static const char *const function_names[] = {"name", "arguments"};
    ik_json_span_t values[4];
    ik_json_span_t function[2];
    ik_json_find_members(fragment, names, 4, values);
    if (!ik_json_is(values[2], IK_JSON_OBJECT) && values[3].len == 0) {
        return; /* a call of a custom tool, which no request offers, or an unknown type */
    }
    ik_json_find_members(values[2], function_names, 2, function);
    fragment_t parsed = {.index = ik_stream_read_index(values[0]),
                         .id = values[1],
                         .name = function[0],
                         .arguments = function[1],
                         .extra = values[3]};
    slot_t *slot =
        parsed.index >= 0 ? find_with_index(calls, &parsed) : find_without_index(calls, &parsed);
    if (slot != NULL && ik_json_has_text(parsed.id) && is_second_call(slot, &parsed)) {
        if (is_repetition(slot, &parsed)) {
            parsed.arguments = (ik_json_span_t){0};
        } else {
            slot = NULL;
        }
    }
    slot = slot == NULL ? open_slot(calls, parsed.index) : slot;
    if (slot != NULL) {
        fill(calls, slot, &parsed);
    }
}

void ik_chat_calls_add_legacy(ik_chat_calls_t *calls, ik_json_span_t function)
{
    static const char *const names[] = {"name", "arguments"};
    ik_json_span_t values[2];
    ik_json_find_members(function, names, 2, values);
    if (calls->legacy == NULL) {
        calls->legacy = open_slot(calls, -1);
    }
    if (calls->legacy != NULL) {
        fill(calls, calls->legacy, &(fragment_t){.name = values[0], .arguments = values[1]});
    }
}

/* --- what goes back ------------------------------------------------------------------------ */

static const slot_t *slot_of(const ik_chat_calls_t *calls, const ik_stream_call_t *call)
{
    for (size_t i = 0; i < calls->count; i++) {
        if (calls->slots[i]->call == call) {
            return calls->slots[i];
        }
    }
    return NULL;
}

bool ik_chat_calls_append_extra(const ik_chat_calls_t *calls, ik_buffer_t *out)
{
    size_t begin = out->len;
    bool any = false;
    for (size_t i = 0; i < calls->stream->item_count; i++) {
        const ik_stream_call_t *call = calls->stream->items[i]->call;
        const slot_t *slot = call == NULL ? NULL : slot_of(calls, call);
        if (slot != NULL) {
            ik_buffer_append_byte(out, out->len == begin ? '[' : ',');
            ik_buffer_append_text(out, slot->extra.len > 0 ? slot->extra.data : "null");
            any = any || slot->extra.len > 0;
        }
    }
    if (any) {
        ik_buffer_append_byte(out, ']');
    } else {
        out->len = begin;
    }
    return any;
}

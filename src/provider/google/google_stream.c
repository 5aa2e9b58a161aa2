#include "provider/google/google_stream.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/utf8.h"

/* A text, a call, or neither, with the members attached to it. */
typedef struct {
    bool has_text;
    ik_buffer_t text;
    ik_stream_call_t *call;
    ik_buffer_t attached; /* other members, each with a comma before it */
} part_t;

typedef struct {
    part_t **parts;
    size_t count;
    size_t size;   /* of what ik_stream_t.size does not count: parts and attached members */
    bool attached; /* a part has attached members */
    int64_t prompt, tool_prompt, candidates, thoughts;
} state_t;

/* Cleaning can turn one byte into three. */
enum { SIZE_KEPT_MAX = IK_STREAM_MAX / 3 };

void *ik_google_stream_begin(ik_stream_t *stream)
{
    state_t *state = ik_new(stream, state_t);
    state->prompt = state->tool_prompt = IK_USAGE_UNKNOWN;
    state->candidates = state->thoughts = IK_USAGE_UNKNOWN;
    return state;
}

/* --- parts ------------------------------------------------------------------------------- */

/* The members of a part; missing spans are empty. */
typedef struct {
    ik_json_span_t text;
    ik_json_span_t call;
    bool is_thought;
    bool has_signature;
    bool has_more; /* members besides text, functionCall and thought */
} reading_t;

/* Null and empty strings are not attached: an empty signature counts as none. */
static bool can_attach(ik_json_span_t key, ik_json_span_t value)
{
    return !ik_json_key_is(key, "text") && !ik_json_key_is(key, "functionCall") &&
           ik_json_kind(value) != IK_JSON_NULL &&
           (ik_json_kind(value) != IK_JSON_STRING || value.len > 2);
}

static void read_member(reading_t *reading, ik_json_span_t key, ik_json_span_t value)
{
    if (ik_json_key_is(key, "text") && ik_json_kind(value) == IK_JSON_STRING) {
        reading->text = value;
    } else if (ik_json_key_is(key, "functionCall") && ik_json_kind(value) == IK_JSON_OBJECT) {
        reading->call = value;
    } else if (ik_json_key_is(key, "thought")) {
        reading->is_thought = value.text[0] == 't';
    } else if (can_attach(key, value)) {
        reading->has_more = true;
        reading->has_signature = reading->has_signature || ik_json_key_is(key, "thoughtSignature");
    }
}

static reading_t read_part(ik_json_span_t part)
{
    reading_t reading = {0};
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    while (ik_json_next_member(part, &position, &key, &value)) {
        read_member(&reading, key, value);
    }
    return reading;
}

static ik_stream_call_t *add_call(ik_stream_t *stream, ik_json_span_t data)
{
    ik_stream_call_t *call = ik_stream_add_call(stream);
    ik_json_span_t value;
    if (ik_json_find_kind(data, "id", IK_JSON_STRING, &value)) {
        ik_stream_append_literal(&call->given_id, value);
    }
    if (ik_json_find_kind(data, "name", IK_JSON_STRING, &value)) {
        ik_stream_append_literal(&call->name, value);
    }
    if (ik_json_find(data, "args", &value)) {
        ik_stream_add_arguments_value(stream, call, value);
    }
    return call;
}

static part_t *add_part(state_t *state)
{
    state->parts = ik_resize_array(state, state->parts, part_t *, state->count + 1);
    part_t *part = ik_new(state, part_t);
    ik_buffer_init(&part->text, part, IK_STREAM_MAX);
    ik_buffer_init(&part->attached, part, IK_STREAM_MAX);
    state->parts[state->count++] = part;
    state->size += sizeof(part_t);
    return part;
}

static void attach(state_t *state, part_t *part, ik_json_span_t data)
{
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    state->attached = true;
    while (ik_json_next_member(data, &position, &key, &value)) {
        if (!can_attach(key, value)) {
            continue;
        }
        size_t len = (size_t)(value.text + value.len - key.text);
        state->size += len;
        if (state->size <= SIZE_KEPT_MAX) {
            ik_buffer_append_byte(&part->attached, ',');
            ik_utf8_append_clean(&part->attached, key.text, len);
        }
    }
}

/* Unsigned thoughts and empty parts do not go back. Bare text joins a last part of bare text. */
static void keep_part(state_t *state, const reading_t *reading, ik_stream_call_t *call,
                      ik_json_span_t data)
{
    bool bare_text = call == NULL && !reading->has_more;
    if (state->size > SIZE_KEPT_MAX || (reading->is_thought && !reading->has_signature) ||
        (bare_text && reading->text.len <= 2)) {
        return;
    }
    part_t *last = state->count == 0 ? NULL : state->parts[state->count - 1];
    bool joins = bare_text && last != NULL && last->has_text && last->attached.len == 0;
    part_t *part = joins ? last : add_part(state);
    part->call = call;
    part->has_text = call == NULL && reading->text.len > 0;
    ik_stream_append_literal(&part->text, reading->text);
    if (reading->has_more) {
        attach(state, part, data);
    }
}

static void take_part(ik_stream_t *stream, ik_json_span_t data)
{
    if (ik_json_kind(data) != IK_JSON_OBJECT) {
        return;
    }
    reading_t reading = read_part(data);
    ik_stream_call_t *call = NULL;
    if (reading.call.len > 0) {
        call = add_call(stream, reading.call);
    } else if (reading.is_thought) {
        ik_stream_add_reasoning_literal(stream, reading.text);
    } else {
        ik_stream_add_text_literal(stream, reading.text);
    }
    keep_part(stream->state, &reading, call, data);
}

/* --- responses --------------------------------------------------------------------------- */

static int64_t known(int64_t figure)
{
    return figure == IK_USAGE_UNKNOWN ? 0 : figure;
}

/* Figures are totals of the answer so far; a figure that is not repeated stays valid. Without
 * candidates and thoughts the model wrote nothing. */
static void take_usage(ik_stream_t *stream, ik_json_span_t usage)
{
    state_t *state = stream->state;
    if (ik_json_kind(usage) != IK_JSON_OBJECT) {
        return;
    }
    ik_stream_take_count(&state->prompt, usage, "promptTokenCount");
    ik_stream_take_count(&state->tool_prompt, usage, "toolUsePromptTokenCount");
    ik_stream_take_count(&state->candidates, usage, "candidatesTokenCount");
    ik_stream_take_count(&state->thoughts, usage, "thoughtsTokenCount");
    ik_stream_take_count(&stream->usage.cached, usage, "cachedContentTokenCount");
    if (state->prompt != IK_USAGE_UNKNOWN) {
        stream->usage.in = state->prompt + known(state->tool_prompt);
    }
    stream->usage.out = known(state->candidates) + known(state->thoughts);
    stream->usage.reasoning = state->thoughts;
}

/* Finish reason OTHER: the model stopped with an error. */
static void fail_other(ik_stream_t *stream, ik_json_span_t candidate)
{
    ik_buffer_t text;
    ik_json_span_t message = {0};
    ik_json_span_t error;
    ik_buffer_init(&text, stream, IK_BUFFER_UNLIMITED); /* bounded by the event */
    if (!ik_json_find_kind(candidate, "finishMessage", IK_JSON_STRING, &message) ||
        message.len == 2) {
        message = (ik_json_span_t){"\"the model stopped without saying why\"", 38};
    }
    ik_buffer_append_text(&text, "{\"error\":{\"status\":\"OTHER\",\"message\":");
    ik_buffer_append(&text, message.text, message.len);
    ik_buffer_append_text(&text, "}}");
    if (ik_json_scan(text.data, text.len, &error, NULL)) {
        ik_stream_fail(stream, error);
    }
    ik_buffer_reset(&text);
}

static ik_stop_t stop_of(ik_json_span_t reason)
{
    static const struct {
        const char *reason;
        ik_stop_t stop;
    } reasons[] = {
        {"STOP", IK_STOP_END},
        {"MAX_TOKENS", IK_STOP_MAX_TOKENS},
        {"SAFETY", IK_STOP_FILTERED},
        {"RECITATION", IK_STOP_FILTERED},
        {"BLOCKLIST", IK_STOP_FILTERED},
        {"PROHIBITED_CONTENT", IK_STOP_FILTERED},
        {"SPII", IK_STOP_FILTERED},
        {"LANGUAGE", IK_STOP_FILTERED},
        {"IMAGE_SAFETY", IK_STOP_FILTERED},
        {"IMAGE_PROHIBITED_CONTENT", IK_STOP_FILTERED},
        {"IMAGE_RECITATION", IK_STOP_FILTERED},
        {"MALFORMED_FUNCTION_CALL", IK_STOP_BAD_TOOL_CALL},
        {"UNEXPECTED_TOOL_CALL", IK_STOP_BAD_TOOL_CALL},
        {"TOO_MANY_TOOL_CALLS", IK_STOP_BAD_TOOL_CALL},
        {"CONTINUATION", IK_STOP_RESUME},
        {"OTHER", IK_STOP_ERROR},
    };
    for (size_t i = 0; i < IK_LENGTH(reasons); i++) {
        if (ik_json_key_is(reason, reasons[i].reason)) {
            return reasons[i].stop;
        }
    }
    return IK_STOP_END;
}

/* "SAFETY", or "SAFETY: …" when there is an explanation. */
static void take_stop_detail(ik_stream_t *stream, ik_json_span_t reason, ik_json_span_t owner,
                             const char *member)
{
    ik_json_span_t explanation;
    char *word = ik_json_decode(stream, reason, NULL);
    bool explained = ik_json_find_kind(owner, member, IK_JSON_STRING, &explanation) &&
                     ik_json_has_text(explanation);
    char *words = explained ? ik_json_decode(stream, explanation, NULL) : NULL;
    stream->stop_detail = words == NULL ? word : ik_sprintf(stream, "%s: %s", word, words);
}

static void take_candidate(ik_stream_t *stream, ik_json_span_t candidate)
{
    ik_json_span_t content;
    ik_json_span_t parts;
    ik_json_span_t part;
    ik_json_span_t reason;
    size_t position = 0;
    if (ik_json_find_kind(candidate, "content", IK_JSON_OBJECT, &content) &&
        ik_json_find_kind(content, "parts", IK_JSON_ARRAY, &parts)) {
        while (ik_json_next_element(parts, &position, &part)) {
            take_part(stream, part);
        }
    }
    if (!ik_json_find_kind(candidate, "finishReason", IK_JSON_STRING, &reason) || reason.len == 2) {
        return;
    }
    stream->terminal = true;
    stream->stop = stop_of(reason);
    if (stream->stop == IK_STOP_ERROR) {
        fail_other(stream, candidate);
    } else if (stream->stop == IK_STOP_FILTERED) {
        take_stop_detail(stream, reason, candidate, "finishMessage");
    }
}

/* A request asks for one candidate, so the first is the only one. */
static void take_candidates(ik_stream_t *stream, ik_json_span_t candidates)
{
    ik_json_span_t first;
    size_t position = 0;
    if (ik_json_kind(candidates) == IK_JSON_ARRAY &&
        ik_json_next_element(candidates, &position, &first)) {
        take_candidate(stream, first);
    }
}

static void take_feedback(ik_stream_t *stream, ik_json_span_t feedback)
{
    ik_json_span_t reason;
    if (!stream->terminal && ik_json_find_kind(feedback, "blockReason", IK_JSON_STRING, &reason) &&
        !ik_json_key_is(reason, "BLOCK_REASON_UNSPECIFIED")) {
        stream->stop = IK_STOP_FILTERED;
        stream->terminal = stream->prompt_blocked = true;
        take_stop_detail(stream, reason, feedback, "blockReasonMessage");
    }
}

/* Every event may have a token; the last one is valid. */
static void take_token(ik_stream_t *stream, ik_json_span_t token)
{
    if (ik_json_kind(token) == IK_JSON_STRING && token.len > 2) {
        talloc_free(stream->continuation);
        stream->continuation = ik_json_decode(stream, token, NULL);
    }
}

static void take_error(ik_stream_t *stream, ik_json_span_t error)
{
    if (ik_json_kind(error) != IK_JSON_NULL) {
        ik_stream_fail(stream, error);
    }
}

static void take_member(ik_stream_t *stream, ik_json_span_t key, ik_json_span_t value)
{
    static const struct {
        const char *name;
        void (*take)(ik_stream_t *stream, ik_json_span_t value);
    } members[] = {
        {"candidates", take_candidates},
        {"usageMetadata", take_usage},
        {"promptFeedback", take_feedback},
        {"continuationToken", take_token},
        {"error", take_error},
    };
    for (size_t i = 0; i < IK_LENGTH(members); i++) {
        if (ik_json_key_is(key, members[i].name)) {
            members[i].take(stream, value);
        }
    }
}

static void take_response(ik_stream_t *stream, ik_json_span_t response)
{
    ik_json_span_t key;
    ik_json_span_t value;
    size_t position = 0;
    while (ik_json_kind(response) == IK_JSON_OBJECT &&
           ik_json_next_member(response, &position, &key, &value)) {
        take_member(stream, key, value);
    }
}

void ik_google_stream_event(ik_stream_t *stream, ik_json_span_t data)
{
    ik_json_span_t response;
    size_t position = 0;
    if (ik_json_kind(data) != IK_JSON_ARRAY) {
        take_response(stream, data);
        return;
    }
    while (stream->error.fault == IK_FAULT_NONE &&
           ik_json_next_element(data, &position, &response)) {
        take_response(stream, response);
    }
}

/* --- what goes back ---------------------------------------------------------------------- */

static void append_part(ik_buffer_t *out, const part_t *part)
{
    const char *attached = part->attached.data;
    size_t len = part->attached.len;
    ik_buffer_append_text(out, out->len == 0 ? "[{" : ",{");
    if (part->call != NULL) {
        ik_buffer_append_text(out, "\"functionCall\":{}");
    } else if (part->has_text) {
        ik_buffer_append_text(out, "\"text\":");
        ik_json_append_string(out, part->text.data, part->text.len);
    } else {
        attached++; /* skips the first comma */
        len--;
    }
    ik_buffer_append(out, attached, len);
    ik_buffer_append_byte(out, '}');
}

static void append_parts(ik_buffer_t *out, const state_t *state)
{
    for (size_t i = 0; i < state->count; i++) {
        const part_t *part = state->parts[i];
        if (part->call == NULL || part->call->id != NULL) { /* NULL: ik_stream_finish dropped it */
            append_part(out, part);
        }
    }
    ik_buffer_append_text(out, out->len == 0 ? "" : "]");
    if (out->dropped > 0) {
        ik_buffer_reset(out);
    }
}

void ik_google_stream_end(ik_stream_t *stream)
{
    const state_t *state = stream->state;
    if (stream->stop != IK_STOP_RESUME) {
        TALLOC_FREE(stream->continuation);
    }
    if (state->attached && state->size <= SIZE_KEPT_MAX) {
        append_parts(&stream->private_json, state);
    }
}

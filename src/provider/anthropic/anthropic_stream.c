#include "provider/anthropic/anthropic_stream.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/utf8.h"

typedef enum {
    TEXT,
    THINKING,
    CALL,
    OPAQUE, /* redacted thinking, blocks of the server's own tools, and unknown types */
} block_kind_t;

typedef struct {
    int64_t index; /* the server's number for it */
    block_kind_t kind;
    /* TEXT and THINKING: the text. CALL: its unknown members, each after a comma. OPAQUE: the whole
     * block, or empty when it cannot go back. */
    ik_buffer_t content;
    ik_buffer_t signature;
    bool has_signature;
    ik_stream_call_t *call;
    bool has_input; /* the call was opened with an input, which deltas replace */
} block_t;

/* Cleaning can turn one byte into three. */
enum { SIZE_KEPT_MAX = IK_STREAM_MAX / 3 };

typedef struct {
    block_t **blocks;
    size_t count;
    size_t size; /* of what ik_stream_t.size does not count: blocks and JSON kept as it came */
    int64_t input, cache_read, cache_write;
} state_t;

void *ik_anthropic_stream_begin(ik_stream_t *stream)
{
    state_t *state = ik_new(stream, state_t);
    state->input = state->cache_read = state->cache_write = IK_USAGE_UNKNOWN;
    return state;
}

/* --- blocks ------------------------------------------------------------------------------ */

static bool has_type(ik_json_span_t block, const char *name)
{
    ik_json_span_t type;
    return ik_json_find_kind(block, "type", IK_JSON_STRING, &type) && ik_json_key_is(type, name);
}

static block_t *add_block(state_t *state, int64_t index, block_kind_t kind)
{
    state->blocks = ik_resize_array(state, state->blocks, block_t *, state->count + 1);
    block_t *block = ik_new(state, block_t);
    block->index = index;
    block->kind = kind;
    ik_buffer_init(&block->content, block, IK_STREAM_MAX);
    ik_buffer_init(&block->signature, block, IK_STREAM_MAX);
    state->blocks[state->count++] = block;
    return block;
}

/* Searches from the end: the last block is nearly always the right one, and when a server uses an
 * index twice, the later block is meant. */
static block_t *find_block(const state_t *state, ik_json_span_t event)
{
    int64_t index = -1;
    ik_stream_take_count(&index, event, "index");
    for (size_t i = state->count; i > 0; i--) {
        if (index < 0 || state->blocks[i - 1]->index == index) {
            return state->blocks[i - 1];
        }
    }
    return NULL;
}

/* Appends a piece of JSON to the block's content; false when the limit is exceeded. */
static bool keep(state_t *state, block_t *block, ik_json_span_t piece)
{
    state->size += piece.len;
    if (state->size > SIZE_KEPT_MAX) {
        return false;
    }
    ik_utf8_append_clean(&block->content, piece.text, piece.len);
    return true;
}

/* --- deltas ------------------------------------------------------------------------------ */

static void add_text(ik_stream_t *stream, block_t *block, ik_json_span_t text)
{
    ik_stream_append_literal(&block->content, text);
    ik_stream_add_text_literal(stream, text);
}

/* Each thinking block is shown as a paragraph of its own. */
static void add_thinking(ik_stream_t *stream, block_t *block, ik_json_span_t text)
{
    if (block->content.len == 0 && stream->reasoning.len > 0 && text.len > 2) {
        ik_stream_add_reasoning(stream, "\n\n", 2);
    }
    ik_stream_append_literal(&block->content, text);
    ik_stream_add_reasoning_literal(stream, text);
}

static void set_signature(ik_stream_t *stream, block_t *block, ik_json_span_t signature)
{
    (void)stream;
    block->has_signature = true;
    ik_buffer_reset(&block->signature);
    ik_stream_append_literal(&block->signature, signature);
}

static void add_input(ik_stream_t *stream, block_t *block, ik_json_span_t json)
{
    if (block->has_input && json.len > 2) {
        ik_stream_drop_arguments(stream, block->call);
        block->has_input = false;
    }
    ik_stream_add_arguments_value(stream, block->call, json);
}

static const struct {
    const char *type;
    const char *member;
    block_kind_t kind;
    void (*apply)(ik_stream_t *stream, block_t *block, ik_json_span_t literal);
} deltas[] = {
    {"text_delta", "text", TEXT, add_text},
    {"thinking_delta", "thinking", THINKING, add_thinking},
    {"signature_delta", "signature", THINKING, set_signature},
    {"input_json_delta", "partial_json", CALL, add_input},
};

static void on_block_delta(ik_stream_t *stream, ik_json_span_t data)
{
    block_t *block = find_block(stream->state, data);
    ik_json_span_t delta;
    ik_json_span_t type;
    ik_json_span_t literal;
    if (block == NULL || !ik_json_find_kind(data, "delta", IK_JSON_OBJECT, &delta) ||
        !ik_json_find_kind(delta, "type", IK_JSON_STRING, &type)) {
        return;
    }
    if (block->kind == OPAQUE) {
        ik_buffer_reset(
            &block->content); /* incomplete: deltas of unknown blocks cannot be applied */
        return;
    }
    for (size_t i = 0; i < IK_LENGTH(deltas); i++) {
        if (block->kind == deltas[i].kind && ik_json_key_is(type, deltas[i].type) &&
            ik_json_find_kind(delta, deltas[i].member, IK_JSON_STRING, &literal)) {
            deltas[i].apply(stream, block, literal);
        }
    }
}

/* --- opening ----------------------------------------------------------------------------- */

static void open_text(ik_stream_t *stream, block_t *block, ik_json_span_t data)
{
    ik_json_span_t text;
    if (ik_json_find_kind(data, "text", IK_JSON_STRING, &text)) {
        add_text(stream, block, text);
    }
}

static void open_thinking(ik_stream_t *stream, block_t *block, ik_json_span_t data)
{
    ik_json_span_t literal;
    if (ik_json_find_kind(data, "thinking", IK_JSON_STRING, &literal)) {
        add_thinking(stream, block, literal);
    }
    if (ik_json_find_kind(data, "signature", IK_JSON_STRING, &literal)) {
        set_signature(stream, block, literal);
    }
}

static void keep_unknown_members(state_t *state, block_t *block, ik_json_span_t data)
{
    size_t position = 0;
    ik_json_span_t key;
    ik_json_span_t value;
    while (ik_json_next_member(data, &position, &key, &value)) {
        ik_json_span_t member = {key.text, (size_t)(value.text + value.len - key.text)};
        if (!ik_json_key_is(key, "type") && !ik_json_key_is(key, "id") &&
            !ik_json_key_is(key, "name") && !ik_json_key_is(key, "input")) {
            ik_buffer_append_byte(&block->content, ',');
            if (!keep(state, block, member)) {
                ik_buffer_reset(&block->content);
                return;
            }
        }
    }
}

static void open_call(ik_stream_t *stream, block_t *block, ik_json_span_t data)
{
    ik_stream_call_t *call = ik_stream_add_call(stream);
    ik_json_span_t value;
    block->call = call;
    if (ik_json_find_kind(data, "id", IK_JSON_STRING, &value)) {
        ik_stream_append_literal(&call->given_id, value);
    }
    if (ik_json_find_kind(data, "name", IK_JSON_STRING, &value)) {
        ik_stream_append_literal(&call->name, value);
    }
    if (ik_json_find(data, "input", &value)) {
        ik_stream_add_arguments_value(stream, call, value);
        block->has_input = true;
    }
    keep_unknown_members(stream->state, block, data);
}

static void open_opaque(ik_stream_t *stream, block_t *block, ik_json_span_t data)
{
    if (!keep(stream->state, block, data)) {
        ik_buffer_reset(&block->content);
    }
}

static const struct {
    const char *type; /* NULL: any other type */
    block_kind_t kind;
    void (*open)(ik_stream_t *stream, block_t *block, ik_json_span_t data);
} openings[] = {
    {"text", TEXT, open_text},
    {"thinking", THINKING, open_thinking},
    {"tool_use", CALL, open_call},
    {NULL, OPAQUE, open_opaque},
};

static void open_block(ik_stream_t *stream, int64_t index, ik_json_span_t data)
{
    state_t *state = stream->state;
    size_t i = 0;
    state->size += sizeof(block_t);
    if (state->size > SIZE_KEPT_MAX || ik_json_kind(data) != IK_JSON_OBJECT) {
        return;
    }
    while (openings[i].type != NULL && !has_type(data, openings[i].type)) {
        i++;
    }
    block_t *block = add_block(state, index, openings[i].kind);
    if (block->kind != TEXT) {
        ik_stream_close_text(stream);
    }
    openings[i].open(stream, block, data);
}

static void on_block_start(ik_stream_t *stream, ik_json_span_t data)
{
    int64_t index = -1;
    ik_json_span_t block;
    ik_stream_take_count(&index, data, "index");
    if (ik_json_find(data, "content_block", &block)) {
        open_block(stream, index, block);
    }
}

/* --- the message around them ------------------------------------------------------------- */

static int64_t sum_known(int64_t a, int64_t b)
{
    if (a == IK_USAGE_UNKNOWN || b == IK_USAGE_UNKNOWN) {
        return a == IK_USAGE_UNKNOWN ? b : a;
    }
    return a + b;
}

/* Figures are totals of the answer so far; a figure that is not repeated stays valid. */
static void take_usage(ik_stream_t *stream, ik_json_span_t owner)
{
    state_t *state = stream->state;
    ik_json_span_t usage;
    ik_json_span_t details;
    if (!ik_json_find_kind(owner, "usage", IK_JSON_OBJECT, &usage)) {
        return;
    }
    ik_stream_take_count(&state->input, usage, "input_tokens");
    ik_stream_take_count(&state->cache_read, usage, "cache_read_input_tokens");
    ik_stream_take_count(&state->cache_write, usage, "cache_creation_input_tokens");
    stream->usage.cached = state->cache_read;
    stream->usage.cache_write = state->cache_write;
    stream->usage.in = sum_known(state->input, sum_known(state->cache_read, state->cache_write));
    ik_stream_take_count(&stream->usage.out, usage, "output_tokens");
    if (ik_json_find_kind(usage, "output_tokens_details", IK_JSON_OBJECT, &details)) {
        ik_stream_take_count(&stream->usage.reasoning, details, "thinking_tokens");
    }
}

static bool has_text(const ik_stream_t *stream)
{
    for (size_t i = 0; i < stream->item_count; i++) {
        if (stream->items[i]->call == NULL) {
            return true;
        }
    }
    return false;
}

/* When a refusal comes without text, its explanation becomes the answer. */
static void take_refusal(ik_stream_t *stream, ik_json_span_t owner)
{
    ik_json_span_t details;
    ik_json_span_t explanation;
    stream->refused = true;
    if (!has_text(stream) && ik_json_find_kind(owner, "stop_details", IK_JSON_OBJECT, &details) &&
        ik_json_find_kind(details, "explanation", IK_JSON_STRING, &explanation)) {
        ik_stream_add_text_literal(stream, explanation);
    }
}

static void take_stop(ik_stream_t *stream, ik_json_span_t owner)
{
    static const struct {
        const char *reason;
        ik_stop_t stop;
    } reasons[] = {
        {"end_turn", IK_STOP_END},
        {"stop_sequence", IK_STOP_END},
        {"tool_use", IK_STOP_TOOL_USE},
        {"max_tokens", IK_STOP_MAX_TOKENS},
        {"model_context_window_exceeded", IK_STOP_CONTEXT_FULL},
        {"refusal", IK_STOP_REFUSAL},
        {"content_filter", IK_STOP_FILTERED},
        {"pause_turn", IK_STOP_RESUME},
    };
    ik_json_span_t reason;
    if (!ik_json_find_kind(owner, "stop_reason", IK_JSON_STRING, &reason)) {
        return;
    }
    stream->stop = IK_STOP_END;
    for (size_t i = 0; i < IK_LENGTH(reasons); i++) {
        if (ik_json_key_is(reason, reasons[i].reason)) {
            stream->stop = reasons[i].stop;
        }
    }
    if (stream->stop == IK_STOP_REFUSAL) {
        take_refusal(stream, owner);
    }
}

static void on_message_start(ik_stream_t *stream, ik_json_span_t data)
{
    ik_json_span_t message;
    if (ik_json_find_kind(data, "message", IK_JSON_OBJECT, &message)) {
        take_usage(stream, message);
    }
}

static void on_message_delta(ik_stream_t *stream, ik_json_span_t data)
{
    ik_json_span_t delta;
    take_usage(stream, data);
    if (ik_json_find_kind(data, "delta", IK_JSON_OBJECT, &delta)) {
        take_stop(stream, delta);
    }
}

static void on_message_stop(ik_stream_t *stream, ik_json_span_t data)
{
    (void)data;
    stream->terminal = stream->done = true;
}

/* A whole message, from a server that does not stream. */
static void on_message(ik_stream_t *stream, ik_json_span_t data)
{
    ik_json_span_t content;
    ik_json_span_t block;
    int64_t index = 0;
    size_t position = 0;
    if (ik_json_find_kind(data, "content", IK_JSON_ARRAY, &content)) {
        while (ik_json_next_element(content, &position, &block)) {
            open_block(stream, index++, block);
        }
    }
    take_usage(stream, data);
    take_stop(stream, data);
    stream->terminal = stream->done = true;
}

void ik_anthropic_stream_event(ik_stream_t *stream, ik_json_span_t data)
{
    /* in order of frequency */
    static const struct {
        const char *type;
        void (*handle)(ik_stream_t *stream, ik_json_span_t data);
    } events[] = {
        {"content_block_delta", on_block_delta},
        {"content_block_start", on_block_start},
        {"message_start", on_message_start},
        {"message_delta", on_message_delta},
        {"message_stop", on_message_stop},
        {"message", on_message},
        {"error", ik_stream_fail},
    };
    ik_json_span_t type;
    ik_json_span_t error;
    if (!ik_json_find_kind(data, "type", IK_JSON_STRING, &type)) {
        if (ik_json_find_kind(data, "error", IK_JSON_OBJECT, &error) ||
            ik_json_find_kind(data, "error", IK_JSON_STRING, &error)) {
            ik_stream_fail(stream, data); /* of a gateway */
        }
        return;
    }
    for (size_t i = 0; i < IK_LENGTH(events); i++) {
        if (ik_json_key_is(type, events[i].type)) {
            events[i].handle(stream, data);
            return;
        }
    }
}

/* --- what goes back ---------------------------------------------------------------------- */

static bool goes_back(const block_t *block)
{
    switch (block->kind) {
    case TEXT:
        return !ik_msg_text_is_blank(block->content.data); /* the server refuses blank text */
    case CALL:
        return block->call->id != NULL; /* NULL: ik_stream_finish dropped the call */
    case OPAQUE:
        return block->content.len > 0;
    default:
        return true;
    }
}

static void append_literal(ik_buffer_t *out, const char *name, const ik_buffer_t *text)
{
    ik_buffer_append_format(out, ",\"%s\":", name);
    ik_json_append_string(out, text->len == 0 ? "" : text->data, text->len);
}

static void append_block(ik_buffer_t *out, const block_t *block)
{
    ik_buffer_append_byte(out, out->len == 0 ? '[' : ',');
    switch (block->kind) {
    case TEXT:
        ik_buffer_append_text(out, "{\"type\":\"text\"");
        append_literal(out, "text", &block->content);
        break;
    case THINKING:
        ik_buffer_append_text(out, "{\"type\":\"thinking\"");
        append_literal(out, "thinking", &block->content);
        if (block->has_signature) {
            append_literal(out, "signature", &block->signature);
        }
        break;
    case CALL:
        ik_buffer_append_text(out, "{\"type\":\"tool_use\"");
        ik_buffer_append(out, block->content.data, block->content.len);
        break;
    case OPAQUE:
        ik_buffer_append(out, block->content.data, block->content.len);
        return;
    }
    ik_buffer_append_byte(out, '}');
}

static bool is_thought(const block_t *block)
{
    ik_json_span_t whole = {block->content.data, block->content.len};
    return block->kind == THINKING ||
           (block->kind == OPAQUE && has_type(whole, "redacted_thinking"));
}

/* Removes the blocks that do not go back; true when the rest holds more than the messages of the
 * conversation do. */
static bool sift_blocks(state_t *state)
{
    size_t kept = 0;
    bool needed = false;
    for (size_t i = 0; i < state->count; i++) {
        if (goes_back(state->blocks[i])) {
            state->blocks[kept++] = state->blocks[i];
        }
    }
    /* The server refuses a message that ends in thinking, as one cut by the token limit does. */
    while (kept > 0 && is_thought(state->blocks[kept - 1])) {
        kept--;
    }
    for (size_t i = 0; i < kept; i++) {
        const block_t *block = state->blocks[i];
        needed = needed || (block->kind != TEXT && (block->kind != CALL || block->content.len > 0));
    }
    state->count = kept;
    return needed;
}

void ik_anthropic_stream_end(ik_stream_t *stream)
{
    state_t *state = stream->state;
    ik_buffer_t *out = &stream->private_json;
    if (!sift_blocks(state)) {
        return;
    }
    for (size_t i = 0; i < state->count; i++) {
        append_block(out, state->blocks[i]);
    }
    ik_buffer_append_byte(out, ']');
    if (out->dropped > 0) {
        ik_buffer_reset(out);
    }
}

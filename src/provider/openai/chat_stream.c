#include "provider/openai/chat_stream.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/json_clean.h"
#include "provider/openai/chat_calls.h"
#include "provider/openai/chat_details.h"
#include "provider/openai/chat_think.h"
#include "provider/openai/openai_endpoint.h"

typedef struct {
    ik_chat_calls_t *calls;
    ik_chat_think_t *think;        /* NULL: OpenAI itself never writes tags */
    ik_buffer_t reasoning_content; /* the literals without their quotes, joined */
    bool has_reasoning_content;
    ik_buffer_t details; /* elements of reasoning_details with commas between them */
    bool refusal;
} chat_t;

void *ik_chat_stream_begin(ik_stream_t *stream)
{
    chat_t *chat = ik_new(stream, chat_t);
    chat->calls = ik_chat_calls_create(stream);
    if (!ik_openai_endpoint_is_openai(stream->target)) {
        chat->think = ik_chat_think_create(stream);
    }
    ik_buffer_init(&chat->reasoning_content, chat, IK_STREAM_MAX);
    ik_buffer_init(&chat->details, chat, IK_STREAM_MAX);
    return chat;
}

/* --- text and reasoning -------------------------------------------------------------------- */

static void add_text(ik_stream_t *stream, ik_json_span_t literal)
{
    chat_t *chat = stream->state;
    if (chat->think == NULL) {
        ik_stream_add_text_literal(stream, literal);
    } else if (ik_json_has_text(literal)) {
        ik_chat_think_add(chat->think, literal);
    }
}

/* thinking is a string or an array of chunks, like content. */
static void add_thinking(ik_stream_t *stream, ik_json_span_t thinking)
{
    size_t position = 0;
    ik_json_span_t chunk;
    ik_json_span_t text;
    ik_stream_add_reasoning_literal(stream, thinking);
    while (ik_json_is(thinking, IK_JSON_ARRAY) &&
           ik_json_next_element(thinking, &position, &chunk)) {
        if (ik_json_kind(chunk) == IK_JSON_OBJECT && ik_json_find(chunk, "text", &text)) {
            ik_stream_add_reasoning_literal(stream, text);
        }
    }
}

static void add_chunk(ik_stream_t *stream, ik_json_span_t chunk)
{
    static const char *const names[] = {"text", "thinking"};
    ik_json_span_t values[2];
    if (ik_json_kind(chunk) == IK_JSON_STRING) {
        add_text(stream, chunk);
        return;
    }
    ik_json_find_members(chunk, names, 2, values);
    add_text(stream, values[0]);
    add_thinking(stream, values[1]);
}

static void add_content(ik_stream_t *stream, ik_json_span_t content)
{
    size_t position = 0;
    ik_json_span_t chunk;
    if (ik_json_is(content, IK_JSON_STRING)) {
        add_text(stream, content);
    }
    while (ik_json_is(content, IK_JSON_ARRAY) && ik_json_next_element(content, &position, &chunk)) {
        add_chunk(stream, chunk);
    }
}

/* Servers that send several of these members send the same text in each. */
static void add_reasoning(ik_stream_t *stream, ik_json_span_t content, ik_json_span_t reasoning,
                          ik_json_span_t thinking)
{
    chat_t *chat = stream->state;
    if (ik_json_is(content, IK_JSON_STRING)) {
        chat->has_reasoning_content = true;
        ik_buffer_append(&chat->reasoning_content, content.text + 1, content.len - 2);
    }
    if (ik_json_has_text(content)) {
        ik_stream_add_reasoning_literal(stream, content);
    } else if (ik_json_has_text(reasoning)) {
        ik_stream_add_reasoning_literal(stream, reasoning);
    } else {
        add_thinking(stream, thinking);
    }
}

static void keep_details(chat_t *chat, ik_json_span_t details)
{
    size_t position = 0;
    ik_json_span_t element;
    while (ik_json_is(details, IK_JSON_ARRAY) &&
           ik_json_next_element(details, &position, &element)) {
        ik_buffer_append_text(&chat->details, chat->details.len == 0 ? "" : ",");
        ik_buffer_append(&chat->details, element.text, element.len);
    }
}

/* --- chunks -------------------------------------------------------------------------------- */

static void add_calls(ik_stream_t *stream, ik_json_span_t calls, ik_json_span_t legacy)
{
    chat_t *chat = stream->state;
    size_t position = 0;
    ik_json_span_t fragment;
    if (chat->think != NULL && (calls.len > 2 || legacy.len > 2)) {
        ik_chat_think_flush(chat->think);
    }
    while (ik_json_is(calls, IK_JSON_ARRAY) && ik_json_next_element(calls, &position, &fragment)) {
        ik_chat_calls_add(chat->calls, fragment);
    }
    if (ik_json_is(legacy, IK_JSON_OBJECT)) {
        ik_chat_calls_add_legacy(chat->calls, legacy);
    }
}

static void take_delta(ik_stream_t *stream, ik_json_span_t delta)
{
    enum {
        CONTENT,
        REFUSAL,
        CALLS,
        LEGACY,
        REASONING_CONTENT,
        REASONING,
        THINKING,
        DETAILS,
        COUNT
    };
    static const char *const names[COUNT] = {"content",       "refusal",           "tool_calls",
                                             "function_call", "reasoning_content", "reasoning",
                                             "thinking",      "reasoning_details"};
    ik_json_span_t values[COUNT];
    ik_json_find_members(delta, names, COUNT, values);
    add_reasoning(stream, values[REASONING_CONTENT], values[REASONING], values[THINKING]);
    keep_details(stream->state, values[DETAILS]);
    add_content(stream, values[CONTENT]);
    if (ik_json_has_text(values[REFUSAL])) {
        ((chat_t *)stream->state)->refusal = true;
        ik_stream_add_text_literal(stream, values[REFUSAL]);
    }
    add_calls(stream, values[CALLS], values[LEGACY]);
}

/* The last reason is kept. An unknown one is an ordinary end, and so is "" unless a reason came
 * before it. */
static void take_finish(ik_stream_t *stream, ik_json_span_t reason)
{
    static const struct {
        const char *name;
        ik_stop_t stop;
    } reasons[] = {
        {"stop", IK_STOP_END},
        {"tool_calls", IK_STOP_TOOL_USE},
        {"length", IK_STOP_MAX_TOKENS},
        {"function_call", IK_STOP_TOOL_USE},
        {"error", IK_STOP_ERROR},
        {"model_length", IK_STOP_MAX_TOKENS},
        {"content_filter", IK_STOP_FILTERED},
        {"sensitive", IK_STOP_FILTERED},                         /* Z.ai */
        {"model_context_window_exceeded", IK_STOP_CONTEXT_FULL}, /* Z.ai */
        {"network_error", IK_STOP_CUT},                          /* Z.ai */
        {"insufficient_system_resource", IK_STOP_CUT},           /* DeepSeek */
        {"abort", IK_STOP_CUT},                                  /* vLLM, SGLang */
    };
    stream->terminal = true;
    if (reason.len == 2 && stream->stop != IK_STOP_NONE) {
        return;
    }
    stream->stop = IK_STOP_END;
    for (size_t i = 0; i < IK_LENGTH(reasons); i++) {
        if (ik_json_key_is(reason, reasons[i].name)) {
            stream->stop = reasons[i].stop;
        }
    }
    talloc_free(stream->stop_detail);
    stream->stop_detail = stream->stop == IK_STOP_CUT ? ik_json_decode(stream, reason, NULL) : NULL;
}

static void take_usage(ik_stream_t *stream, ik_json_span_t usage)
{
    enum { IN, OUT, HIT, IN_DETAILS, OUT_DETAILS, COUNT };
    static const char *const names[COUNT] = {"prompt_tokens", "completion_tokens",
                                             "prompt_cache_hit_tokens", "prompt_tokens_details",
                                             "completion_tokens_details"};
    ik_json_span_t values[COUNT];
    ik_json_find_members(usage, names, COUNT, values);
    ik_stream_take_count(&stream->usage.in, usage, names[IN]);
    ik_stream_take_count(&stream->usage.out, usage, names[OUT]);
    if (values[HIT].len > 0) { /* DeepSeek's name for cached tokens */
        ik_stream_take_count(&stream->usage.cached, usage, names[HIT]);
    }
    if (values[IN_DETAILS].len > 0) {
        ik_stream_take_count(&stream->usage.cached, values[IN_DETAILS], "cached_tokens");
        ik_stream_take_count(&stream->usage.cache_write, values[IN_DETAILS], "cache_write_tokens");
    }
    if (values[OUT_DETAILS].len > 0) {
        ik_stream_take_count(&stream->usage.reasoning, values[OUT_DETAILS], "reasoning_tokens");
    }
}

/* Servers that fill in all members write false, "" or {} where there is no error. */
static bool says_error(ik_json_span_t value)
{
    return value.len > 2 && value.text[0] != 'f';
}

/* Some servers send a message instead of a delta; an answer that is not streamed always has one. */
static void take_choice(ik_stream_t *stream, ik_json_span_t choice)
{
    enum { INDEX, DELTA, MESSAGE, FINISH, USAGE, ERROR, COUNT };
    static const char *const names[COUNT] = {"index",         "delta", "message",
                                             "finish_reason", "usage", "error"};
    ik_json_span_t values[COUNT];
    ik_json_find_members(choice, names, COUNT, values);
    if (values[INDEX].len > 0 && values[INDEX].text[0] != '0') {
        return; /* a request asks for one choice only */
    }
    bool whole = !ik_json_is(values[DELTA], IK_JSON_OBJECT);
    take_delta(stream, whole ? values[MESSAGE] : values[DELTA]);
    if (ik_json_is(values[FINISH], IK_JSON_STRING)) {
        take_finish(stream, values[FINISH]);
    } else if (stream->plain_body && values[MESSAGE].len > 0) {
        stream->terminal = true;
    }
    if (ik_json_is(values[USAGE], IK_JSON_OBJECT)) {
        take_usage(stream, values[USAGE]);
    }
    if (says_error(values[ERROR])) {
        ik_stream_fail(stream, values[ERROR]);
    }
}

static void take_choices(ik_stream_t *stream, ik_json_span_t choices)
{
    size_t position = 0;
    ik_json_span_t choice;
    while (ik_json_is(choices, IK_JSON_ARRAY) &&
           ik_json_next_element(choices, &position, &choice)) {
        take_choice(stream, choice);
    }
}

/* --- events -------------------------------------------------------------------------------- */

enum {
    EVENT_CHOICES,
    EVENT_USAGE,
    EVENT_ERROR,
    EVENT_GROQ,
    EVENT_OBJECT,
    EVENT_TYPE,
    EVENT_MESSAGE,
    EVENT_MEMBERS
};
static const char *const event_names[EVENT_MEMBERS] = {"choices", "usage", "error",  "x_groq",
                                                       "object",  "type",  "message"};

/* Servers report an error inside a stream in different ways. */
static bool is_error(const ik_json_span_t *values)
{
    bool says_so = ik_json_is_text(values[EVENT_OBJECT], "error") ||
                   ik_json_is_text(values[EVENT_TYPE], "error");
    return says_error(values[EVENT_ERROR]) || says_so ||
           (values[EVENT_CHOICES].len == 0 && values[EVENT_MESSAGE].len > 0);
}

void ik_chat_stream_event(ik_stream_t *stream, ik_json_span_t data)
{
    static const char unexplained[] = "\"The provider ended the answer with an error.\"";
    ik_json_span_t values[EVENT_MEMBERS];
    ik_json_find_members(data, event_names, EVENT_MEMBERS, values);
    take_choices(stream, values[EVENT_CHOICES]);
    ik_json_span_t usage;
    ik_json_span_t stopped = {0}; /* why Groq stopped the stream early */
    if (ik_json_find_kind(values[EVENT_GROQ], "usage", IK_JSON_OBJECT, &usage)) {
        take_usage(stream, usage);
    }
    ik_json_find_kind(values[EVENT_GROQ], "error", IK_JSON_STRING, &stopped);
    if (ik_json_is(values[EVENT_USAGE], IK_JSON_OBJECT)) {
        take_usage(stream, values[EVENT_USAGE]);
    }
    if (is_error(values)) {
        ik_stream_fail(stream, data);
    } else if (ik_json_has_text(stopped)) {
        ik_stream_fail(stream, stopped);
    } else if (stream->stop == IK_STOP_ERROR) {
        ik_stream_fail(stream, (ik_json_span_t){unexplained, sizeof(unexplained) - 1});
    }
}

/* --- the end ------------------------------------------------------------------------------- */

static void keep_private(ik_stream_t *stream, chat_t *chat)
{
    ik_buffer_t kept;
    ik_buffer_t extra;
    ik_buffer_init(&kept, chat, IK_BUFFER_UNLIMITED);  /* bounded by its three members */
    ik_buffer_init(&extra, chat, IK_BUFFER_UNLIMITED); /* bounded by the calls */
    if (chat->has_reasoning_content && chat->reasoning_content.dropped == 0) {
        ik_json_begin_member(&kept, "reasoning_content");
        ik_buffer_append_byte(&kept, '"');
        ik_buffer_append(&kept, chat->reasoning_content.data, chat->reasoning_content.len);
        ik_buffer_append_byte(&kept, '"');
    }
    if (chat->details.len > 0 && chat->details.dropped == 0) {
        ik_json_begin_member(&kept, "reasoning_details");
        ik_chat_details_format(&kept, &chat->details);
    }
    if (ik_chat_calls_append_extra(chat->calls, &extra)) {
        ik_json_begin_member(&kept, "extra_content");
        ik_buffer_append(&kept, extra.data, extra.len);
    }
    if (kept.len > 0) {
        ik_buffer_append_byte(&kept, '}');
        ik_json_append_clean(&stream->private_json, (ik_json_span_t){kept.data, kept.len});
    }
}

void ik_chat_stream_end(ik_stream_t *stream)
{
    chat_t *chat = stream->state;
    if (chat->think != NULL) {
        ik_chat_think_flush(chat->think);
    }
    if (chat->refusal && stream->stop == IK_STOP_END) {
        stream->stop = IK_STOP_REFUSAL;
    }
    keep_private(stream, chat);
}

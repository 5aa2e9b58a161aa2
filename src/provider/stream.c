#include "provider/stream.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/random.h"
#include "base/utf8.h"

enum { NAME_BYTES_MAX = 1024 }; /* of a call's name and id; no tool has a longer name */

static const char *const stop_names[] = {
    [IK_STOP_NONE] = "none",
    [IK_STOP_END] = "end",
    [IK_STOP_TOOL_USE] = "tool_use",
    [IK_STOP_MAX_TOKENS] = "max_tokens",
    [IK_STOP_CONTEXT_FULL] = "context_full",
    [IK_STOP_CUT] = "cut",
    [IK_STOP_REFUSAL] = "refusal",
    [IK_STOP_FILTERED] = "filtered",
    [IK_STOP_BAD_TOOL_CALL] = "bad_tool_call",
    [IK_STOP_RESUME] = "resume",
    [IK_STOP_ERROR] = "error",
    [IK_STOP_INCOMPLETE] = "incomplete",
};

const char *ik_stop_name(ik_stop_t stop)
{
    return stop_names[stop];
}

/* --- failing ----------------------------------------------------------------------------- */

static void fail_with(ik_stream_t *stream, const ik_provider_error_t *error)
{
    if (stream->error.fault == IK_FAULT_NONE) {
        stream->error = *error;
        stream->stop = IK_STOP_ERROR;
    }
}

void ik_stream_fail(ik_stream_t *stream, ik_json_span_t error)
{
    ik_provider_error_t parsed;
    ik_provider_error_from_event(&parsed, error);
    fail_with(stream, &parsed);
}

/* The server or a proxy did not keep to the format; text is what it sent instead. */
static void fail_format(ik_stream_t *stream, const char *message, const char *text, size_t len)
{
    ik_provider_error_t error;
    ik_provider_error_from_text(&error, message, text, len);
    fail_with(stream, &error);
}

void ik_stream_fail_size(ik_stream_t *stream, const char *message)
{
    ik_provider_error_t error = {.fault = IK_FAULT_SERVER, .retry_after_ms = -1};
    strncpy(error.code, "answer_too_long", sizeof(error.code) - 1);
    strncpy(error.message, message, sizeof(error.message) - 1);
    fail_with(stream, &error);
}

static bool has_failed(const ik_stream_t *stream)
{
    return stream->error.fault != IK_FAULT_NONE;
}

/* --- bytes to events --------------------------------------------------------------------- */

static bool is_white(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* White space around data has no meaning in any of the formats. */
static ik_json_span_t trim(const char *data, size_t len)
{
    while (len > 0 && is_white(data[len - 1])) {
        len--;
    }
    while (len > 0 && is_white(*data)) {
        data++;
        len--;
    }
    return (ik_json_span_t){data, len};
}

static bool is_done_marker(ik_json_span_t data)
{
    static const char marker[] = "[DONE]";
    return data.len == sizeof(marker) - 1 && memcmp(data.text, marker, data.len) == 0;
}

/* Whether an event is of a kind that no format has: it is named and its data is not JSON, as with
 * "event: ping" of some proxies. Events of the formats hold objects. */
static bool is_foreign(const char *event, ik_json_span_t data)
{
    return event[0] != '\0' && strcmp(event, "message") != 0 &&
           memchr("{[", data.text[0], 2) == NULL;
}

/* Passes an event to the format and notes what comes after the terminal marker. */
static void take_event(ik_stream_t *stream, ik_json_span_t value)
{
    bool was_terminal = stream->terminal;
    size_t size = stream->size;
    size_t items = stream->item_count;
    stream->target->provider->stream_event(stream, value);
    stream->overrun =
        stream->overrun || (was_terminal && (stream->size != size || stream->item_count != items));
}

static bool on_sse_event(void *user, const char *event, const char *data, size_t len)
{
    ik_stream_t *stream = user;
    ik_json_span_t value;
    ik_json_span_t trimmed = trim(data, len);
    bool is_error = strcmp(event, "error") == 0;
    if (stream->done || (trimmed.len == 0 && !is_error)) {
        return true; /* an event without data keeps the connection alive */
    }
    if (is_done_marker(trimmed)) {
        bool stopped = stream->stop != IK_STOP_NONE; /* the format's own reason was given */
        stream->done = true;
        stream->terminal = stream->terminal || stopped || stream->target->provider->ends_with_done;
    } else if (ik_json_scan(data, len, &value, NULL)) {
        take_event(stream, value);
        if (is_error && !has_failed(stream)) { /* in a form that the vendor does not use */
            ik_stream_fail(stream, value);
        }
    } else if (is_error) {
        fail_format(stream, "the server reported an error", data, len);
    } else if (!is_foreign(event, trimmed) && (!stream->ending || !ik_stream_has_ended(stream))) {
        fail_format(stream, "the server sent an event that is not JSON", "", 0);
    }
    return !has_failed(stream);
}

ik_stream_t *ik_stream_create(const void *ctx, const ik_target_t *target,
                              const ik_stream_listener_t *listener)
{
    ik_stream_t *stream = ik_new(ctx, ik_stream_t);
    stream->target = target;
    stream->listener = *listener;
    stream->usage = IK_USAGE_NONE;
    ik_buffer_init(&stream->reasoning, stream, IK_STREAM_TEXT_MAX);
    ik_buffer_init(&stream->private_json, stream, 2 * (size_t)IK_STREAM_MAX);
    ik_buffer_init(&stream->body, stream, IK_SSE_EVENT_MAX);
    ik_buffer_init(&stream->decoded, stream, IK_SSE_EVENT_MAX);
    ik_buffer_init(&stream->shown, stream, IK_BUFFER_UNLIMITED); /* bounded by one event */
    ik_key_mask_init(&stream->text_mask, stream, target->config->api_key);
    ik_key_mask_init(&stream->reasoning_mask, stream, target->config->api_key);
    stream->sse = ik_sse_create(stream, on_sse_event, stream);
    stream->sniffing = true;
    if (target->provider->stream_begin != NULL) {
        stream->state = target->provider->stream_begin(stream);
    }
    return stream;
}

void ik_stream_begin(ik_stream_t *stream, const char *content_type)
{
    static const char events[] = "text/event-stream";
    size_t len = content_type == NULL ? 0 : strcspn(content_type, "; \t");
    stream->plain_body = len != strlen(events) || strncasecmp(content_type, events, len) != 0;
}

/* Some servers and proxies give a wrong content type, so the first byte decides: an object, a list
 * or a page is a whole body, and so is all but a field of an event where no stream is announced.
 * Returns how many bytes to skip: blanks and a byte order mark. */
static size_t sniff(ik_stream_t *stream, const char *bytes, size_t len)
{
    size_t blank = 0;
    while (blank < len && memchr(" \t\r\n\xef\xbb\xbf", bytes[blank], 7) != NULL) {
        blank++;
    }
    if (blank < len) {
        char first = bytes[blank];
        bool field = memchr("dei:r", first, 5) != NULL; /* data, event, id, a comment, retry */
        stream->plain_body = memchr("{[<", first, 3) != NULL || (stream->plain_body && !field);
        stream->sniffing = false;
    }
    return blank;
}

bool ik_stream_feed(ik_stream_t *stream, const char *bytes, size_t len)
{
    size_t skipped = stream->sniffing ? sniff(stream, bytes, len) : 0;
    bytes += skipped;
    len -= skipped;
    if (has_failed(stream)) {
        return false;
    }
    if (stream->plain_body) {
        ik_buffer_append(&stream->body, bytes, len);
        if (stream->body.dropped > 0) {
            ik_stream_fail_size(stream, "the answer is too long");
        }
    } else if (!ik_sse_feed(stream->sse, bytes, len)) {
        fail_format(stream, "the server sent an event that is too long", "", 0);
    }
    return !has_failed(stream);
}

static void read_plain_body(ik_stream_t *stream)
{
    ik_json_span_t value;
    const ik_buffer_t *body = &stream->body;
    const char *fault = NULL;
    if (body->len == 0) {
        return;
    }
    if (ik_json_scan(body->data, body->len, &value, NULL)) {
        stream->target->provider->stream_event(stream, value);
        bool empty = stream->item_count == 0 && stream->reasoning.len == 0;
        fault = !stream->terminal && empty ? "the server's answer is not one of a model" : NULL;
    } else if (body->data[0] == '<') {
        fault = "the server answered with a web page, so base_url may be wrong";
    } else {
        fault = "the server's answer is not JSON";
    }
    if (fault != NULL) {
        fail_format(stream, fault, body->data, body->len);
    }
}

/* --- what formats write ------------------------------------------------------------------ */

/* Makes text valid UTF-8 without NUL bytes, as C strings need it. */
static void clean_decoded(ik_buffer_t *decoded)
{
    if (!ik_utf8_valid(decoded->data, decoded->len)) {
        ik_utf8_clean(decoded);
    }
    for (char *nul; (nul = memchr(decoded->data, '\0', decoded->len)) != NULL;) {
        *nul = ' ';
    }
}

static bool grows_too_much(ik_stream_t *stream, size_t len)
{
    stream->size += len;
    if (stream->size > IK_STREAM_TEXT_MAX) {
        ik_stream_fail_size(stream, "the answer is too long");
    }
    return has_failed(stream);
}

static ik_stream_item_t *add_item(ik_stream_t *stream)
{
    if (stream->item_count == IK_STREAM_ITEMS_MAX) {
        ik_stream_fail_size(stream, "the answer has too many parts");
    }
    stream->items =
        ik_resize_array(stream, stream->items, ik_stream_item_t *, stream->item_count + 1);
    ik_stream_item_t *item = ik_new(stream, ik_stream_item_t);
    ik_buffer_init(&item->text, item, IK_STREAM_TEXT_MAX);
    stream->items[stream->item_count++] = item;
    return item;
}

static void show_text(ik_stream_t *stream, const char *text, size_t len)
{
    if (len == 0) {
        return;
    }
    ik_stream_item_t *item =
        stream->text_open ? stream->items[stream->item_count - 1] : add_item(stream);
    stream->text_open = true;
    ik_buffer_append(&item->text, text, len);
    if (stream->listener.on_text != NULL) {
        stream->listener.on_text(stream->listener.data, text, len);
    }
}

static void show_reasoning(ik_stream_t *stream, const char *text, size_t len)
{
    if (len == 0) {
        return;
    }
    ik_buffer_append(&stream->reasoning, text, len);
    if (stream->listener.on_reasoning != NULL) {
        stream->listener.on_reasoning(stream->listener.data, text, len);
    }
}

/* Shows what was held back because it could have begun the API key. */
static void end_reasoning(ik_stream_t *stream)
{
    stream->shown.len = 0;
    ik_key_mask_finish(&stream->reasoning_mask, &stream->shown);
    show_reasoning(stream, stream->shown.data, stream->shown.len);
}

void ik_stream_close_text(ik_stream_t *stream)
{
    stream->shown.len = 0;
    ik_key_mask_finish(&stream->text_mask, &stream->shown);
    show_text(stream, stream->shown.data, stream->shown.len);
    stream->text_open = false;
}

void ik_stream_add_text(ik_stream_t *stream, const char *text, size_t len)
{
    if (len == 0 || grows_too_much(stream, len)) {
        return;
    }
    end_reasoning(stream);
    stream->shown.len = 0;
    ik_key_mask_add(&stream->text_mask, text, len, &stream->shown);
    show_text(stream, stream->shown.data, stream->shown.len);
}

void ik_stream_add_reasoning(ik_stream_t *stream, const char *text, size_t len)
{
    if (len == 0 || grows_too_much(stream, len)) {
        return;
    }
    stream->shown.len = 0;
    ik_key_mask_add(&stream->reasoning_mask, text, len, &stream->shown);
    show_reasoning(stream, stream->shown.data, stream->shown.len);
}

/* The decoded text is valid until the next literal is decoded. */
static ik_buffer_t *decode(ik_stream_t *stream, ik_json_span_t literal)
{
    stream->decoded.len = 0;
    ik_stream_append_literal(&stream->decoded, literal);
    if (stream->decoded.len > 0) {
        clean_decoded(&stream->decoded);
    }
    return &stream->decoded;
}

void ik_stream_add_text_literal(ik_stream_t *stream, ik_json_span_t literal)
{
    const ik_buffer_t *text = decode(stream, literal);
    ik_stream_add_text(stream, text->data, text->len);
}

void ik_stream_add_reasoning_literal(ik_stream_t *stream, ik_json_span_t literal)
{
    const ik_buffer_t *text = decode(stream, literal);
    ik_stream_add_reasoning(stream, text->data, text->len);
}

ik_stream_call_t *ik_stream_add_call(ik_stream_t *stream)
{
    end_reasoning(stream);
    ik_stream_close_text(stream);
    ik_stream_item_t *item = add_item(stream);
    ik_stream_call_t *call = ik_new(item, ik_stream_call_t);
    ik_buffer_init(&call->given_id, call, NAME_BYTES_MAX);
    ik_buffer_init(&call->name, call, NAME_BYTES_MAX);
    ik_buffer_init(&call->arguments, call, IK_STREAM_TEXT_MAX);
    item->call = call;
    return call;
}

void ik_stream_add_arguments(ik_stream_t *stream, ik_stream_call_t *call, const char *text,
                             size_t len)
{
    if (stream->listener.on_call != NULL && call->arguments.len == 0 && call->name.len > 0) {
        char *name = ik_strndup(stream, call->name.data, call->name.len);
        stream->listener.on_call(stream->listener.data, name);
        talloc_free(name);
    }
    if (!grows_too_much(stream, len)) {
        ik_buffer_append(&call->arguments, text, len);
    }
}

void ik_stream_add_arguments_value(ik_stream_t *stream, ik_stream_call_t *call,
                                   ik_json_span_t value)
{
    if (ik_json_is(value, IK_JSON_STRING)) {
        stream->decoded.len = 0;
        ik_stream_append_literal(&stream->decoded, value);
        ik_stream_add_arguments(stream, call, stream->decoded.data, stream->decoded.len);
    } else if (value.len > 0 && ik_json_kind(value) != IK_JSON_NULL) {
        ik_stream_add_arguments(stream, call, value.text, value.len);
    }
}

void ik_stream_drop_arguments(ik_stream_t *stream, ik_stream_call_t *call)
{
    stream->size -= call->arguments.len;
    ik_buffer_reset(&call->arguments);
}

void ik_stream_append_literal(ik_buffer_t *buffer, ik_json_span_t literal)
{
    if (literal.len >= 2 && ik_json_kind(literal) == IK_JSON_STRING) {
        ik_json_append_decoded(buffer, literal);
    }
}

void ik_stream_take_count(int64_t *figure, ik_json_span_t object, const char *name)
{
    ik_json_span_t value;
    if (!ik_json_find_kind(object, name, IK_JSON_NUMBER, &value)) {
        return;
    }
    double number = strtod(value.text, NULL);
    if (number >= 0 && number < 1e15) {
        *figure = (int64_t)number;
    }
}

int64_t ik_stream_read_index(ik_json_span_t value)
{
    enum { INDEX_MAX = 1000000 };
    long long index = ik_json_is(value, IK_JSON_NUMBER) ? strtoll(value.text, NULL, 10) : -1;
    return index >= 0 && index <= INDEX_MAX ? index : -1;
}

/* --- the end ----------------------------------------------------------------------------- */

static bool has_whole_arguments(const ik_stream_call_t *call)
{
    ik_json_span_t value;
    return ik_json_scan(call->arguments.data, call->arguments.len, &value, NULL) &&
           ik_json_kind(value) == IK_JSON_OBJECT;
}

/* The calls of an answer that did not end properly must never run, not even repaired. */
static bool must_not_run(const ik_stream_t *stream, const ik_stream_call_t *call)
{
    switch (stream->stop) {
    case IK_STOP_NONE:
    case IK_STOP_END:
    case IK_STOP_TOOL_USE:
        return call->name.len == 0;
    case IK_STOP_MAX_TOKENS:
    case IK_STOP_CONTEXT_FULL:
    case IK_STOP_CUT:
        return call->name.len == 0 || !has_whole_arguments(call);
    default:
        return true;
    }
}

/* Removes the calls that must not run; returns whether there were any. */
static bool drop_calls(ik_stream_t *stream)
{
    size_t kept = 0;
    size_t before = stream->item_count;
    for (size_t i = 0; i < stream->item_count; i++) {
        ik_stream_call_t *call = stream->items[i]->call;
        if (call != NULL && call->arguments.len == 0) {
            ik_buffer_append_text(&call->arguments, "{}");
        }
        if (call == NULL || !must_not_run(stream, call)) {
            stream->items[kept++] = stream->items[i];
        }
    }
    stream->item_count = kept;
    return kept < before;
}

static bool is_taken(const ik_stream_t *stream, size_t before, const char *id)
{
    for (size_t i = 0; i < before; i++) {
        const ik_stream_call_t *call = stream->items[i]->call;
        if (call != NULL && strcmp(call->id, id) == 0) {
            return true;
        }
    }
    return stream->listener.has_id != NULL && stream->listener.has_id(stream->listener.data, id);
}

/* Gives every call a unique id; false when an id that the provider gave had to be replaced. */
static bool settle_ids(ik_stream_t *stream)
{
    bool unchanged = true;
    for (size_t i = 0; i < stream->item_count; i++) {
        ik_stream_call_t *call = stream->items[i]->call;
        if (call == NULL) {
            continue;
        }
        bool given = call->given_id.len > 0;
        bool usable = given && ik_utf8_valid(call->given_id.data, call->given_id.len) &&
                      strlen(call->given_id.data) == call->given_id.len &&
                      !is_taken(stream, i, call->given_id.data);
        if (usable) {
            call->id = call->given_id.data;
        } else {
            char name[10];
            ik_random_name(name, 9);
            call->id = ik_sprintf(call, "ik_%s", name);
        }
        unchanged = unchanged && (usable || !given);
    }
    return unchanged;
}

/* Whether ik_msg_create_call keeps the name unchanged. */
static bool is_plain_name(const ik_buffer_t *name)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789-";
    enum { NAME_MAX_LEN = 64 };
    return name->len > 0 && name->len <= NAME_MAX_LEN && strspn(name->data, plain) == name->len &&
           strchr("0123456789-", name->data[0]) == NULL;
}

/* Private data must match the messages of the conversation. When a call has to be changed there, or
 * its arguments are not an object, the step is rebuilt from its messages instead. */
static bool can_go_back(const ik_stream_t *stream)
{
    for (size_t i = 0; i < stream->item_count; i++) {
        const ik_stream_call_t *call = stream->items[i]->call;
        if (call != NULL && (!is_plain_name(&call->name) || !has_whole_arguments(call))) {
            return false;
        }
    }
    return true;
}

static void wrap_private(ik_stream_t *stream)
{
    if (stream->private_json.len == 0) {
        return;
    }
    ik_buffer_t wrapped;
    ik_buffer_init(&wrapped, stream, IK_BUFFER_UNLIMITED); /* bounded by private_json */
    ik_json_span_t own = {stream->private_json.data, stream->private_json.len};
    ik_buffer_append_format(&wrapped, "{\"%s\":", stream->target->provider->name);
    bool masked = ik_key_mask_json(&wrapped, own, stream->target->config->api_key);
    ik_buffer_append_byte(&wrapped, '}');
    ik_buffer_reset(&stream->private_json);
    if (masked || !(stream->text_mask.found || stream->reasoning_mask.found)) {
        stream->private_json = wrapped;
    } else {
        ik_buffer_reset(&wrapped);
    }
}

/* Whether the answer has calls decides the reason; one that lost all its calls was malformed. */
static void settle_stop(ik_stream_t *stream, bool lost_calls)
{
    bool calls = ik_stream_call_count(stream) > 0;
    if (stream->stop == IK_STOP_NONE || stream->stop == IK_STOP_END ||
        stream->stop == IK_STOP_TOOL_USE) {
        stream->stop = calls ? IK_STOP_TOOL_USE : lost_calls ? IK_STOP_BAD_TOOL_CALL : IK_STOP_END;
    }
}

void ik_stream_finish(ik_stream_t *stream, bool whole)
{
    const ik_provider_t *provider = stream->target->provider;
    if (!has_failed(stream) && whole && stream->plain_body) {
        read_plain_body(stream);
    } else if (!has_failed(stream) && whole) {
        stream->ending = true;
        ik_sse_finish(stream->sse);
    }
    if (!whole && !ik_stream_has_ended(stream)) {
        stream->terminal = false;
    }
    if (!has_failed(stream) && !stream->terminal) {
        stream->stop = IK_STOP_INCOMPLETE;
    }
    end_reasoning(stream);
    ik_stream_close_text(stream);
    bool lost_calls = drop_calls(stream);
    bool unchanged = settle_ids(stream);
    if (stream->stop != IK_STOP_ERROR && stream->stop != IK_STOP_INCOMPLETE) {
        settle_stop(stream, lost_calls);
        if (provider->stream_end != NULL) {
            provider->stream_end(stream);
        }
    }
    if ((unchanged || !provider->private_has_ids) && can_go_back(stream)) {
        wrap_private(stream);
    } else {
        ik_buffer_reset(&stream->private_json);
    }
}

bool ik_stream_has_ended(const ik_stream_t *stream)
{
    bool begun = stream->size > 0 || stream->item_count > 0;
    return stream->terminal &&
           (stream->done || (!stream->overrun && (begun || stream->stop != IK_STOP_END)));
}

bool ik_stream_is_visible(const ik_stream_t *stream)
{
    for (size_t i = 0; i < stream->item_count; i++) {
        if (stream->items[i]->call == NULL) {
            return true;
        }
    }
    return stream->reasoning.len > 0;
}

size_t ik_stream_call_count(const ik_stream_t *stream)
{
    size_t count = 0;
    for (size_t i = 0; i < stream->item_count; i++) {
        count += stream->items[i]->call != NULL;
    }
    return count;
}

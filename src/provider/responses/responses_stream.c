#include "provider/responses/responses_stream.h"

#include <stdio.h>

#include "base/array.h"
#include "base/json_clean.h"
#include "provider/responses/responses_items.h"

enum {
    TYPE,
    OUTPUT_INDEX,
    ITEM_ID,
    CONTENT_INDEX,
    SUMMARY_INDEX,
    DELTA,
    TEXT,
    REFUSAL,
    ARGUMENTS,
    ITEM,
    RESPONSE,
    ERROR,
    OBJECT,
    OUTPUT,
    MEMBERS
};
static const char *const member_names[MEMBERS] = {
    "type",    "output_index", "item_id", "content_index", "summary_index", "delta",  "text",
    "refusal", "arguments",    "item",    "response",      "error",         "object", "output"};

typedef struct {
    ik_stream_t *stream;
    ik_responses_items_t *items;
    ik_json_span_t values[MEMBERS];
    ik_responses_place_t place;
} event_t;

void *ik_responses_stream_begin(ik_stream_t *stream)
{
    return ik_responses_items_create(stream);
}

/* --- whole responses: in the event that ends the stream, or as a body ------------------------ */

static void take_usage(ik_stream_t *stream, ik_json_span_t usage)
{
    enum { IN_DETAILS, OUT_DETAILS, COUNT };
    static const char *const names[COUNT] = {"input_tokens_details", "output_tokens_details"};
    ik_json_span_t values[COUNT];
    if (!ik_json_is(usage, IK_JSON_OBJECT)) {
        return;
    }
    ik_json_find_members(usage, names, COUNT, values);
    ik_stream_take_count(&stream->usage.in, usage, "input_tokens");
    ik_stream_take_count(&stream->usage.out, usage, "output_tokens");
    if (values[IN_DETAILS].len > 0) {
        ik_stream_take_count(&stream->usage.cached, values[IN_DETAILS], "cached_tokens");
        ik_stream_take_count(&stream->usage.cache_write, values[IN_DETAILS], "cache_write_tokens");
    }
    if (values[OUT_DETAILS].len > 0) {
        ik_stream_take_count(&stream->usage.reasoning, values[OUT_DETAILS], "reasoning_tokens");
    }
}

static ik_stop_t stop_of_incomplete(ik_stream_t *stream, ik_json_span_t details)
{
    static const char *const names[] = {"reason"};
    ik_json_span_t reason;
    ik_json_find_members(details, names, 1, &reason);
    if (ik_json_is_text(reason, "max_output_tokens")) {
        return IK_STOP_MAX_TOKENS;
    }
    if (ik_json_is_text(reason, "content_filter")) {
        return IK_STOP_FILTERED;
    }
    stream->stop_detail = ik_json_has_text(reason) ? ik_json_decode(stream, reason, NULL) : NULL;
    return IK_STOP_CUT;
}

/* Reads the output of a body, or of a stream from a proxy that omits the events about items. */
static void take_output(ik_responses_items_t *items, ik_json_span_t output)
{
    size_t position = 0;
    ik_json_span_t item;
    for (size_t i = 0;
         ik_json_is(output, IK_JSON_ARRAY) && ik_json_next_element(output, &position, &item); i++) {
        char index[24];
        int len = snprintf(index, sizeof(index), "%zu", i);
        ik_responses_place_t place = {.output_index = {index, (size_t)len}};
        ik_responses_items_close(items, &place, item);
    }
}

static void fail_response(ik_stream_t *stream, ik_json_span_t error)
{
    static const char unexplained[] = "\"The provider could not complete its answer.\"";
    bool given = error.len > 0;
    ik_stream_fail(stream, given ? error : (ik_json_span_t){unexplained, sizeof(unexplained) - 1});
}

static void take_response(ik_stream_t *stream, ik_json_span_t response)
{
    enum { STATUS, FAULT, DETAILS, RESULT, USAGE, COUNT };
    static const char *const names[COUNT] = {"status", "error", "incomplete_details", "output",
                                             "usage"};
    ik_json_span_t values[COUNT];
    ik_json_find_members(response, names, COUNT, values);
    take_usage(stream, values[USAGE]);
    if (!ik_responses_items_has_closed(stream->state)) {
        take_output(stream->state, values[RESULT]);
    }
    if (values[FAULT].len > 0 || ik_json_is_text(values[STATUS], "failed") ||
        ik_json_is_text(values[STATUS], "cancelled")) {
        fail_response(stream, values[FAULT]);
        return;
    }
    stream->stop = ik_json_is_text(values[STATUS], "incomplete")
                       ? stop_of_incomplete(stream, values[DETAILS])
                       : IK_STOP_END;
    stream->terminal = stream->done = true;
}

/* --- events -------------------------------------------------------------------------------- */

/* A handler gets the value of the member that its row in the table names; whole is false for a
 * delta. */

static void on_text(event_t *event, ik_json_span_t value, bool whole)
{
    ik_responses_items_text(event->items, &event->place, value, whole);
}

static void on_refusal(event_t *event, ik_json_span_t value, bool whole)
{
    ik_responses_items_add_refusal(event->items);
    ik_responses_items_text(event->items, &event->place, value, whole);
}

static void on_arguments(event_t *event, ik_json_span_t value, bool whole)
{
    ik_responses_items_arguments(event->items, &event->place, value, whole);
}

static void on_reasoning(event_t *event, ik_json_span_t value, bool whole)
{
    ik_responses_items_reasoning(event->items, &event->place, value, whole);
}

static void on_summary(event_t *event, ik_json_span_t value, bool whole)
{
    event->place.part = event->values[SUMMARY_INDEX];
    ik_responses_items_reasoning(event->items, &event->place, value, whole);
}

static void on_item(event_t *event, ik_json_span_t value, bool whole)
{
    if (whole) {
        ik_responses_items_close(event->items, &event->place, value);
    } else {
        ik_responses_items_open(event->items, &event->place, value);
    }
}

static void on_completed(event_t *event, ik_json_span_t value, bool whole)
{
    (void)whole;
    take_response(event->stream, value);
}

/* The event's name decides, whatever the status inside it. */
static void on_incomplete(event_t *event, ik_json_span_t value, bool whole)
{
    static const char *const names[] = {"incomplete_details"};
    ik_json_span_t details;
    (void)whole;
    take_response(event->stream, value);
    ik_json_find_members(value, names, 1, &details);
    if (event->stream->error.fault == IK_FAULT_NONE) {
        event->stream->stop = stop_of_incomplete(event->stream, details);
    }
}

static void on_failed(event_t *event, ik_json_span_t value, bool whole)
{
    static const char *const names[] = {"error"};
    ik_json_span_t error;
    (void)whole;
    ik_json_find_members(value, names, 1, &error);
    fail_response(event->stream, error);
}

/* Events that come once per token are first. Unknown events are ignored. */
static const struct {
    const char *type;
    void (*handle)(event_t *event, ik_json_span_t value, bool whole);
    int member;
    bool whole;
} handlers[] = {
    {"response.output_text.delta", on_text, DELTA, false},
    {"response.function_call_arguments.delta", on_arguments, DELTA, false},
    {"response.reasoning_summary_text.delta", on_summary, DELTA, false},
    {"response.reasoning_text.delta", on_reasoning, DELTA, false},
    {"response.refusal.delta", on_refusal, DELTA, false},
    {"response.output_item.added", on_item, ITEM, false},
    {"response.output_item.done", on_item, ITEM, true},
    {"response.output_text.done", on_text, TEXT, true},
    {"response.function_call_arguments.done", on_arguments, ARGUMENTS, true},
    {"response.reasoning_summary_text.done", on_summary, TEXT, true},
    {"response.reasoning_text.done", on_reasoning, TEXT, true},
    {"response.refusal.done", on_refusal, REFUSAL, true},
    {"response.completed", on_completed, RESPONSE, true},
    {"response.incomplete", on_incomplete, RESPONSE, true},
    {"response.failed", on_failed, RESPONSE, true},
};

static void dispatch(event_t *event, ik_json_span_t data)
{
    for (size_t i = 0; i < IK_LENGTH(handlers); i++) {
        if (ik_json_key_is(event->values[TYPE], handlers[i].type)) {
            handlers[i].handle(event, event->values[handlers[i].member], handlers[i].whole);
            return;
        }
    }
    if (ik_json_key_is(event->values[TYPE], "error")) {
        ik_stream_fail(event->stream, data);
    }
}

void ik_responses_stream_event(ik_stream_t *stream, ik_json_span_t data)
{
    event_t event = {.stream = stream, .items = stream->state};
    ik_json_find_members(data, member_names, MEMBERS, event.values);
    event.place = (ik_responses_place_t){.output_index = event.values[OUTPUT_INDEX],
                                         .item_id = event.values[ITEM_ID],
                                         .part = event.values[CONTENT_INDEX]};
    if (ik_json_is(event.values[TYPE], IK_JSON_STRING)) {
        dispatch(&event, data);
    } else if (event.values[OUTPUT].len > 0 || ik_json_is_text(event.values[OBJECT], "response")) {
        take_response(stream, data);
    } else if (event.values[ERROR].len > 0 || ik_json_is_text(event.values[OBJECT], "error")) {
        ik_stream_fail(stream, data);
    }
}

void ik_responses_stream_end(ik_stream_t *stream)
{
    ik_responses_items_t *items = stream->state;
    ik_buffer_t kept;
    ik_buffer_init(&kept, items, IK_BUFFER_UNLIMITED); /* items keep up to IK_STREAM_MAX */
    bool ended = stream->stop == IK_STOP_END;
    if (ik_responses_items_has_refusal(items) && ended) {
        stream->stop = IK_STOP_REFUSAL;
    } else if (ik_responses_items_has_incomplete(items) && ended) {
        stream->stop = IK_STOP_CUT;
    }
    ik_responses_items_format(items, &kept);
    if (kept.len > 0) {
        ik_json_append_clean(&stream->private_json, (ik_json_span_t){kept.data, kept.len});
    }
}

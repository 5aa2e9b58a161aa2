/*
 * An answer as it comes in. It is fed with the bytes of the response in pieces of any size, passes
 * text and reasoning to the listener at once, and holds the whole answer when it is finished. Wire
 * formats write into it with the functions at the end of this file. Only ik_stream_finish decides
 * which calls are complete, which ids are missing or used twice, and why the model stopped.
 *
 * The listener is called from ik_stream_feed and ik_stream_finish, and from the functions for wire
 * formats; it must not free the stream.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/json.h"
#include "conversation/usage.h"
#include "provider/key_mask.h"
#include "provider/provider.h"
#include "provider/provider_error.h"
#include "provider/sse.h"

typedef enum {
    IK_STOP_NONE, /* no reason was given yet */
    IK_STOP_END,
    IK_STOP_TOOL_USE,
    IK_STOP_MAX_TOKENS,
    IK_STOP_CONTEXT_FULL,
    IK_STOP_CUT, /* the provider calls the answer incomplete, for another reason or for none */
    IK_STOP_REFUSAL,
    IK_STOP_FILTERED,
    IK_STOP_BAD_TOOL_CALL,
    IK_STOP_RESUME, /* the answer continues when the same request is sent again */
    IK_STOP_ERROR,
    IK_STOP_INCOMPLETE, /* the stream ended without its terminal marker */
} ik_stop_t;

/* "end", "tool_use", "max_tokens", … */
const char *ik_stop_name(ik_stop_t stop);

typedef struct {
    const char *id; /* set by ik_stream_finish: unique; "ik_…" when given_id cannot be used */
    ik_buffer_t given_id; /* the provider's id */
    ik_buffer_t name;
    ik_buffer_t arguments; /* as they came; ik_stream_finish sets "{}" when none came */
} ik_stream_call_t;

/* An answer is a list of items: pieces of text and calls. */
typedef struct {
    ik_buffer_t text;
    ik_stream_call_t *call; /* NULL: the item is text */
} ik_stream_item_t;

typedef struct {
    /* A delta never ends inside a UTF-8 character. Each of these may be NULL. */
    void (*on_text)(void *data, const char *text, size_t len);
    void (*on_reasoning)(void *data, const char *text, size_t len);
    /* The arguments of a call begin to come in. */
    void (*on_call)(void *data, const char *name);
    /* Whether an earlier call of the conversation has this id. */
    bool (*has_id)(void *data, const char *id);
    void *data;
} ik_stream_listener_t;

struct ik_stream {
    const ik_target_t *target;
    ik_stream_listener_t listener;
    void *state; /* of the wire format */

    /* the result */
    ik_stream_item_t **items; /* ik_stream_finish removes the calls that must not run */
    size_t item_count;
    ik_buffer_t reasoning;
    ik_usage_t usage;
    ik_stop_t stop;
    bool terminal; /* the format's terminal marker was seen: the answer is complete */
    bool overrun;  /* more of the answer came after it */
    bool done;     /* the rest of the stream is ignored */
    bool refused;  /* this turn must be left out of later requests */
    /* With IK_STOP_FILTERED and IK_STOP_CUT: the provider's reason, or NULL. */
    char *stop_detail;
    bool prompt_blocked; /* with IK_STOP_FILTERED: the prompt was blocked, so there is no answer */
    ik_provider_error_t error;
    /* Data that the provider gets back with this step: {"WIRE":…} after ik_stream_finish, empty
     * when there is none or it must not be sent. */
    ik_buffer_t private_json;
    char *continuation; /* with IK_STOP_RESUME; may be NULL */

    /* private to stream.c, except that wire formats read plain_body */
    ik_sse_t *sse;
    ik_buffer_t body; /* of an answer that is not a stream */
    bool plain_body;  /* the answer is one JSON value, not a stream */
    bool sniffing;    /* no byte has come yet that decides it */
    bool ending;      /* the last event may be cut: no more bytes come */
    bool text_open;   /* text joins the last item */
    size_t size;      /* of text, reasoning and arguments */
    ik_buffer_t decoded;
    ik_key_mask_t text_mask; /* a model may repeat the API key, in pieces */
    ik_key_mask_t reasoning_mask;
    ik_buffer_t shown;
};

/* The limits exceed what any model writes, and are small enough for the copies that are made: text
 * is held, stored, and printed as JSON, where one byte may take six. IK_STREAM_MAX bounds data in
 * the provider's own form, such as encrypted reasoning. */
enum {
    IK_STREAM_TEXT_MAX = 8 * 1024 * 1024,
    IK_STREAM_MAX = 24 * 1024 * 1024,
    IK_STREAM_ITEMS_MAX = 4096,
};

ik_stream_t *ik_stream_create(const void *ctx, const ik_target_t *target,
                              const ik_stream_listener_t *listener);
/* Call it before the first bytes; content_type may be NULL. */
void ik_stream_begin(ik_stream_t *stream, const char *content_type);
/* False when the stream has failed and the rest of the response is not needed. */
bool ik_stream_feed(ik_stream_t *stream, const char *bytes, size_t len);
/* Ends the stream and settles stop, ids and calls. whole is false when the connection broke: then
 * a marker that cannot be believed (ik_stream_has_ended) does not count. */
void ik_stream_finish(ik_stream_t *stream, bool whole);

/* Whether the terminal marker was seen and can be believed: some servers send it with every event,
 * or before the answer. */
bool ik_stream_has_ended(const ik_stream_t *stream);
/* Whether the answer has text or reasoning that was shown. */
bool ik_stream_is_visible(const ik_stream_t *stream);
size_t ik_stream_call_count(const ik_stream_t *stream);

/* --- for the wire formats ------------------------------------------------------------------ */

void ik_stream_add_text(ik_stream_t *stream, const char *text, size_t len);
void ik_stream_add_reasoning(ik_stream_t *stream, const char *text, size_t len);
/* These two take a scanned string literal and ignore any other value. */
void ik_stream_add_text_literal(ik_stream_t *stream, ik_json_span_t literal);
void ik_stream_add_reasoning_literal(ik_stream_t *stream, ik_json_span_t literal);
/* The next text begins a new item. */
void ik_stream_close_text(ik_stream_t *stream);
/* Appends a call to the items, for the wire format to fill. */
ik_stream_call_t *ik_stream_add_call(ik_stream_t *stream);
/* Append to a call's arguments: JSON text, or a scanned value. A string holds JSON text; some
 * servers send the object itself. null adds nothing. */
void ik_stream_add_arguments(ik_stream_t *stream, ik_stream_call_t *call, const char *text,
                             size_t len);
void ik_stream_add_arguments_value(ik_stream_t *stream, ik_stream_call_t *call,
                                   ik_json_span_t value);
/* Removes the arguments so far, so that others can replace them. */
void ik_stream_drop_arguments(ik_stream_t *stream, ik_stream_call_t *call);
/* Decodes a string literal into a buffer; any other value is ignored. */
void ik_stream_append_literal(ik_buffer_t *buffer, ik_json_span_t literal);
/* Fails the stream with an error object from the provider. The first failure is kept. */
void ik_stream_fail(ik_stream_t *stream, ik_json_span_t error);
/* Fails the stream because a limit is exceeded; such a failure is not retried, since another
 * attempt would cost as much and end the same way. */
void ik_stream_fail_size(ik_stream_t *stream, const char *message);
/* Sets *figure to a member that is a non-negative number; otherwise leaves it unchanged. */
void ik_stream_take_count(int64_t *figure, ik_json_span_t object, const char *name);
/* The value as an index into a list of the answer; -1 when it is not an index. */
int64_t ik_stream_read_index(ik_json_span_t value);

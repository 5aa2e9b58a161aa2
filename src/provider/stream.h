/*
 * An answer as it comes in: fed with the bytes of the response in any pieces, it tells text and
 * reasoning at once and holds the whole when it is finished. Wire formats write into it by the
 * functions below the line; it alone decides what counts: which calls are whole, which ids are
 * missing or doubled, why the model stopped.
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
    IK_STOP_NONE, /* not said yet */
    IK_STOP_END,
    IK_STOP_TOOL_USE,
    IK_STOP_MAX_TOKENS,
    IK_STOP_CONTEXT_FULL,
    IK_STOP_CUT, /* the provider says that the answer is incomplete, for another reason or none */
    IK_STOP_REFUSAL,
    IK_STOP_FILTERED,
    IK_STOP_BAD_TOOL_CALL,
    IK_STOP_RESUME, /* ask again with the same, the answer goes on */
    IK_STOP_ERROR,
    IK_STOP_INCOMPLETE, /* the stream ended without its terminal marker */
} ik_stop_t;

/* "end", "tool_use", "max_tokens", … */
const char *ik_stop_name(ik_stop_t stop);

typedef struct {
    const char *id;       /* set when finished: unique, made up ("ik_…") when none was given */
    ik_buffer_t given_id; /* as it came */
    ik_buffer_t name;
    ik_buffer_t arguments; /* as they came; "{}" when finished and nothing came */
} ik_stream_call_t;

/* What an answer consists of, in order: pieces of text and calls. */
typedef struct {
    ik_buffer_t text; /* when call is NULL */
    ik_stream_call_t *call;
} ik_stream_item_t;

typedef struct {
    /* Bytes between characters: a delta never ends inside one. May be NULL. */
    void (*on_text)(void *data, const char *text, size_t len);
    void (*on_reasoning)(void *data, const char *text, size_t len);
    /* Whether an earlier call of the conversation has this id. May be NULL. */
    bool (*has_id)(void *data, const char *id);
    void *data;
} ik_stream_listener_t;

struct ik_stream {
    const ik_target_t *target;
    ik_stream_listener_t listener;
    void *state; /* of the wire format */

    /* the result */
    ik_stream_item_t **items; /* after ik_stream_finish without what must not be run */
    size_t item_count;
    ik_buffer_t reasoning;
    ik_usage_t usage;
    ik_stop_t stop;
    bool terminal; /* the format's terminal marker was seen: the answer is whole */
    bool done;     /* and nothing of use can follow */
    bool refused;  /* this turn must be left out of later requests */
    /* With IK_STOP_FILTERED and IK_STOP_CUT: the provider's word for why, or NULL; and whether it
     * was the prompt that was blocked, so that there is no answer. */
    char *stop_detail;
    bool prompt_blocked;
    ik_provider_error_t error;
    ik_buffer_t private_json; /* what the provider wants back with this step; {"WIRE":…} when
                                 finished, empty when there is nothing or it must not be sent */
    char *continuation;       /* with IK_STOP_RESUME; may be NULL */

    /* its own */
    ik_sse_t *sse;
    ik_buffer_t body; /* of an answer that is not a stream */
    bool plain_body;
    bool sniffing; /* the content type did not tell: the first byte will */
    bool text_open;
    size_t size; /* of text, reasoning and arguments */
    ik_buffer_t decoded;
    ik_key_mask_t text_mask; /* a model may repeat the key, in pieces */
    ik_key_mask_t reasoning_mask;
    ik_buffer_t shown;
};

/* More than any model writes, and little enough to be handled several times over: text is kept,
 * stored, and printed as JSON in which a byte may take six. IK_STREAM_MAX bounds what is kept in
 * the provider's own form, encrypted reasoning for instance. */
enum {
    IK_STREAM_TEXT_MAX = 8 * 1024 * 1024,
    IK_STREAM_MAX = 24 * 1024 * 1024,
    IK_STREAM_ITEMS_MAX = 4096,
};

ik_stream_t *ik_stream_create(const void *ctx, const ik_target_t *target,
                              const ik_stream_listener_t *listener);
/* Before the first bytes; content_type may be NULL. */
void ik_stream_begin(ik_stream_t *stream, const char *content_type);
/* False when it failed and nothing more needs to come. */
bool ik_stream_feed(ik_stream_t *stream, const char *bytes, size_t len);
/* The end of the bytes; settles stop, ids and calls. whole is false when the connection broke. */
void ik_stream_finish(ik_stream_t *stream, bool whole);

/* Whether anything of it was shown. */
bool ik_stream_is_visible(const ik_stream_t *stream);
size_t ik_stream_call_count(const ik_stream_t *stream);

/* --- for the wire formats ------------------------------------------------------------------ */

void ik_stream_add_text(ik_stream_t *stream, const char *text, size_t len);
void ik_stream_add_reasoning(ik_stream_t *stream, const char *text, size_t len);
/* The same from a scanned string literal; anything else is ignored. */
void ik_stream_add_text_literal(ik_stream_t *stream, ik_json_span_t literal);
void ik_stream_add_reasoning_literal(ik_stream_t *stream, ik_json_span_t literal);
/* The next text begins a new item. */
void ik_stream_close_text(ik_stream_t *stream);
/* A call opens; it stands in the answer where it is opened. */
ik_stream_call_t *ik_stream_add_call(ik_stream_t *stream);
/* Arguments of a call, or a piece of them, as they come or from a scanned string literal. */
void ik_stream_add_arguments(ik_stream_t *stream, ik_stream_call_t *call, const char *text,
                             size_t len);
void ik_stream_add_arguments_literal(ik_stream_t *stream, ik_stream_call_t *call,
                                     ik_json_span_t literal);
/* Others take their place. */
void ik_stream_drop_arguments(ik_stream_t *stream, ik_stream_call_t *call);
/* Appends a decoded string literal to a buffer; anything else is ignored. */
void ik_stream_append_literal(ik_buffer_t *buffer, ik_json_span_t literal);
/* The first error wins. */
void ik_stream_fail(ik_stream_t *stream, ik_json_span_t error);
/* There is more of it than is kept: another attempt would cost as much and end the same. */
void ik_stream_fail_size(ik_stream_t *stream, const char *message);
/* A non-negative integer member overwrites *figure; absent, null or anything else keeps it. */
void ik_stream_take_count(int64_t *figure, ik_json_span_t object, const char *name);

/*
 * A wire format against any bytes: the answer does not depend on how they are cut, and whatever was
 * understood can be sent back as a request that is JSON in UTF-8. The first byte chooses the
 * content type and how the stream ends, the next two seed the places of the cuts.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/answer.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include "pieces.h"
#include "provider/stream.h"
#include "provider/wire.h"

static inline void stream_fuzz_check_delta(void *data, const char *text, size_t len)
{
    ik_buffer_t *log = data;
    REQUIRE(len > 0 && ik_utf8_valid(text, len));
    ik_buffer_append(log, text, len);
}

static inline bool stream_fuzz_feed(ik_stream_t *stream, const uint8_t *bytes, size_t len)
{
    char *piece = pieces_copy(bytes, len);
    bool more = ik_stream_feed(stream, piece, len);
    free(piece);
    return more;
}

static inline ik_stream_t *stream_fuzz_run(const ik_target_t *target, ik_buffer_t *log, int how,
                                           const uint8_t *bytes, size_t len, uint32_t seed)
{
    static const char *const types[] = {"text/event-stream", "application/json", NULL};
    ik_stream_listener_t listener = {
        .on_text = stream_fuzz_check_delta, .on_reasoning = stream_fuzz_check_delta, .data = log};
    ik_stream_t *stream = ik_stream_create(target, target, &listener);
    bool more = true;
    ik_stream_begin(stream, types[how % 3]);
    while (len > 0 && more) {
        seed = seed * 1664525 + 1013904223;
        size_t piece = seed == 1013904223 ? len : (seed >> 24) % 16; /* seed 0: in one */
        piece = piece < len ? piece : len;
        more = stream_fuzz_feed(stream, bytes, piece);
        bytes += piece;
        len -= piece;
    }
    ik_stream_finish(stream, how < 192);
    return stream;
}

static inline void stream_fuzz_compare(const ik_stream_t *a, const ik_stream_t *b)
{
    REQUIRE(a->stop == b->stop && a->terminal == b->terminal && a->refused == b->refused);
    REQUIRE(a->item_count == b->item_count);
    REQUIRE(memcmp(&a->usage, &b->usage, sizeof(a->usage)) == 0);
    REQUIRE(a->error.fault == b->error.fault && strcmp(a->error.code, b->error.code) == 0);
    REQUIRE(strcmp(a->error.message, b->error.message) == 0);
    REQUIRE((a->continuation == NULL) == (b->continuation == NULL));
    REQUIRE(a->continuation == NULL || strcmp(a->continuation, b->continuation) == 0);
    REQUIRE(pieces_same(&a->reasoning, &b->reasoning));
    REQUIRE(pieces_same(&a->private_json, &b->private_json));
    for (size_t i = 0; i < a->item_count; i++) {
        const ik_stream_call_t *call = a->items[i]->call;
        const ik_stream_call_t *other = b->items[i]->call;
        REQUIRE((call == NULL) == (other == NULL));
        REQUIRE(pieces_same(&a->items[i]->text, &b->items[i]->text));
        if (call != NULL) {
            REQUIRE(pieces_same(&call->given_id, &other->given_id));
            REQUIRE(pieces_same(&call->name, &other->name));
            REQUIRE(pieces_same(&call->arguments, &other->arguments));
        }
    }
}

/* The user, this answer, and (by repair) a result for each call. */
static inline ik_conversation_t *stream_fuzz_converse(const void *ctx, const ik_stream_t *stream)
{
    ik_conversation_t *conversation = ik_conversation_create(ctx);
    ik_conversation_t *step = ik_answer_to_messages(ctx, stream, &(ik_answer_options_t){0});
    ik_conversation_append(conversation, ik_msg_create(conversation, IK_MSG_USER, "hello", NULL));
    for (size_t i = 0; i < step->count; i++) {
        ik_conversation_append(conversation, step->messages[i]);
    }
    ik_conversation_append(conversation, ik_msg_create(conversation, IK_MSG_USER, "on", NULL));
    return ik_conversation_take_repaired(ctx, conversation);
}

static inline void stream_fuzz_send_back(const void *ctx, const ik_stream_t *stream)
{
    ik_request_t *request = ik_request_create(ctx, stream->target);
    ik_wire_body_t body;
    ik_buffer_t text;
    request->conversation = stream_fuzz_converse(ctx, stream);
    ik_wire_format(ik_wire_create(ctx), request, &body);
    ik_buffer_init(&text, ctx, IK_BUFFER_UNLIMITED);
    for (size_t i = 0; i < body.count; i++) {
        ik_buffer_append(&text, body.parts[i].bytes, body.parts[i].len);
    }
    pieces_require_json(text.data, text.len);
}

static inline int stream_fuzz(const ik_provider_t *provider, const uint8_t *bytes, size_t len)
{
    enum { HEAD = 3 };
    if (len < HEAD) {
        return 0;
    }
    ik_target_t *target = ik_new(NULL, ik_target_t);
    ik_config_provider_t *config = ik_new(target, ik_config_provider_t);
    *config = (ik_config_provider_t){.name = "test", .base_url = "http://127.0.0.1:9"};
    *target = (ik_target_t){config, provider, "test/model", "model", ik_new(target, ik_model_t)};
    uint32_t seed = (uint32_t)bytes[1] << 8 | bytes[2];
    ik_buffer_t heard[2];
    ik_buffer_init(&heard[0], target, IK_BUFFER_UNLIMITED);
    ik_buffer_init(&heard[1], target, IK_BUFFER_UNLIMITED);
    ik_stream_t *whole = stream_fuzz_run(target, &heard[0], bytes[0], bytes + HEAD, len - HEAD, 0);
    ik_stream_t *cut = stream_fuzz_run(target, &heard[1], bytes[0], bytes + HEAD, len - HEAD, seed);
    REQUIRE(pieces_same(&heard[0], &heard[1]));
    stream_fuzz_compare(whole, cut);
    stream_fuzz_send_back(target, whole);
    talloc_free(target);
    return 0;
}

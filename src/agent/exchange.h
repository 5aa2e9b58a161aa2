/*
 * One request and its answer: sends, feeds the stream, watches that something comes. Whatever goes
 * wrong is in the finished stream (stop and error); whether to try again is for others to decide.
 */
#pragma once

#include "agent/shared.h"
#include "provider/stream.h"
#include "provider/wire.h"

typedef struct ik_exchange ik_exchange_t;

typedef struct {
    const ik_shared_ctx_t *shared;
    const ik_request_t *request; /* lives until the end */
    ik_wire_t *wire;             /* nobody else uses it until the end */
    ik_stream_listener_t listener;
    /* The stream is finished; it belongs to the exchange, which the owner frees, here or later. */
    void (*on_end)(void *data, ik_stream_t *stream);
    void *data;
} ik_exchange_options_t;

/* on_end comes from the loop, later, exactly once; freeing the exchange ends it silently. */
ik_exchange_t *ik_exchange_start(const void *ctx, const ik_exchange_options_t *options);

/* What has come so far. */
ik_stream_t *ik_exchange_stream(ik_exchange_t *exchange);
/* Bytes of the request's body. */
size_t ik_exchange_sent(const ik_exchange_t *exchange);

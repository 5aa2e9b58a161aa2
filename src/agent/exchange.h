/*
 * One request and its answer: sends the request, feeds the response to a stream, and enforces the
 * idle timeout. Failures are recorded in the finished stream (stop and error); the caller decides
 * whether to retry.
 */
#pragma once

#include "agent/shared.h"
#include "provider/stream.h"
#include "provider/wire.h"

typedef struct ik_exchange ik_exchange_t;

typedef struct {
    const ik_shared_ctx_t *shared;
    const ik_request_t *request; /* lives until the end */
    ik_wire_t *wire;             /* used by this exchange alone until the end */
    ik_stream_listener_t listener;
    /* The stream is finished. It belongs to the exchange, which the owner frees here or later. */
    void (*on_end)(void *data, ik_stream_t *stream);
    void *data;
} ik_exchange_options_t;

/* on_end is called exactly once, later, from the loop. Freeing the exchange cancels it without
 * calling on_end. */
ik_exchange_t *ik_exchange_start(const void *ctx, const ik_exchange_options_t *options);

/* The answer so far. */
ik_stream_t *ik_exchange_stream(ik_exchange_t *exchange);
/* Time since anything of the answer was received, keep-alive events included; -1: it has not begun,
 * or it is complete. */
int64_t ik_exchange_silent_ms(const ik_exchange_t *exchange);
/* Size of the request body in bytes, as if its images were text of as many tokens. */
size_t ik_exchange_sent(const ik_exchange_t *exchange);

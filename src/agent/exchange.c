#include "agent/exchange.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "provider/key_mask.h"

enum {
    ERROR_BODY_MAX = 1024 * 1024,
    /* A complete answer need not wait for the end of the response, but a short wait lets the
     * connection be reused. */
    GRACE_DONE_MS = 200,
    GRACE_TERMINAL_MS = 5000,
};

struct ik_exchange {
    ik_exchange_options_t options;
    ik_stream_t *stream;
    ik_http_request_t *http;
    const ik_http_head_t *head; /* NULL until it arrives */
    ik_wire_body_t body;
    ik_buffer_t error_body;
    ik_timer_t *cue;     /* answers in place of a server; NULL: a server is asked */
    ik_timer_t *idle;    /* no progress for too long; NULL: no server is asked */
    ik_timer_t *grace;   /* started when the answer is complete */
    size_t progress;     /* of the answer when the idle timer was started */
    int64_t received_ms; /* when the last part of the answer arrived */
};

/* Some servers quote a key they reject: it must not reach a screen or a log. The stream masks it in
 * the answer itself. */
static void end(ik_exchange_t *exchange, bool whole)
{
    if (exchange->idle != NULL) {
        ik_timer_stop(exchange->idle);
    }
    ik_stream_finish(exchange->stream, whole);
    const char *key = exchange->options.request->target->config->api_key;
    ik_key_mask_line(exchange->stream->error.message, key);
    ik_key_mask_line(exchange->stream->error.code, key);
    exchange->options.on_end(exchange->options.data, exchange->stream);
}

/* --- errors ------------------------------------------------------------------------------ */

static void set_error(ik_exchange_t *exchange, const char *code, const char *message,
                      bool retryable)
{
    ik_provider_error_t *error = &exchange->stream->error;
    *error = (ik_provider_error_t){
        .fault = IK_FAULT_NETWORK, .retryable = retryable, .retry_after_ms = -1};
    snprintf(error->code, sizeof(error->code), "%s", code);
    snprintf(error->message, sizeof(error->message), "%s", message);
    exchange->stream->stop = IK_STOP_ERROR;
}

static const char *header(void *data, const char *name)
{
    return ik_http_head_value(data, name);
}

typedef struct {
    const char *code;
    bool retryable;
} outcome_t;

static const outcome_t outcomes[] = {
    [IK_HTTP_UNAVAILABLE] = {"no_libcurl", false},
    [IK_HTTP_BAD_REQUEST] = {"bad_url", false},
    [IK_HTTP_NO_CONNECTION] = {"no_connection", true},
    [IK_HTTP_CONNECT_TIMEOUT] = {"connect_timeout", true},
    [IK_HTTP_TLS] = {"tls", false},
    [IK_HTTP_BROKEN] = {"connection_lost", true},
    [IK_HTTP_SILENT] = {"silent", true},
    [IK_HTTP_REFUSED] = {"invalid_response", true},
};

/* --- the transfer ------------------------------------------------------------------------ */

static bool is_answer(const ik_exchange_t *exchange)
{
    int status = exchange->head == NULL ? 0 : ik_http_head_status(exchange->head);
    return status >= 200 && status < 300;
}

static void on_head(void *data, const ik_http_head_t *head)
{
    ik_exchange_t *exchange = data;
    exchange->head = head;
    exchange->received_ms = ik_clock_now_ms();
    if (is_answer(exchange)) {
        ik_stream_begin(exchange->stream, ik_http_head_value(head, "content-type"));
    }
}

static bool on_body(void *data, const char *bytes, size_t len)
{
    ik_exchange_t *exchange = data;
    if (!is_answer(exchange)) {
        ik_buffer_append(&exchange->error_body, bytes, len);
        return exchange->error_body.dropped == 0; /* the rest of an error body is not needed */
    }
    const ik_stream_t *stream = exchange->stream;
    exchange->received_ms = ik_clock_now_ms();
    bool was_done = stream->done;
    bool had_ended = ik_stream_has_ended(stream);
    bool more = ik_stream_feed(exchange->stream, bytes, len);
    bool has_ended = ik_stream_has_ended(stream);
    if (stream->done && !was_done) {
        ik_timer_start(exchange->grace, GRACE_DONE_MS);
    } else if (has_ended && !had_ended) {
        ik_timer_start(exchange->grace, GRACE_TERMINAL_MS);
    } else if (had_ended && !has_ended) { /* only the end of the response tells */
        ik_timer_stop(exchange->grace);
    }
    return more;
}

/* Whether the server has refused the request. Status and headers say so, whatever becomes of the
 * body. */
static bool is_refusal(const ik_exchange_t *exchange)
{
    return exchange->head != NULL && !is_answer(exchange);
}

static void set_refusal(ik_exchange_t *exchange)
{
    const ik_buffer_t *body = &exchange->error_body;
    ik_provider_error_parse(&exchange->stream->error, ik_http_head_status(exchange->head),
                            body->len > 0 ? body->data : "", body->len, header,
                            (void *)exchange->head, (int64_t)time(NULL));
    exchange->stream->stop = IK_STOP_ERROR;
}

static void on_http_end(void *data, const ik_http_end_t *http_end)
{
    ik_exchange_t *exchange = data;
    exchange->http = NULL; /* it frees itself */
    ik_timer_stop(exchange->grace);
    bool failed = exchange->stream->error.fault != IK_FAULT_NONE;
    bool whole = http_end->outcome == IK_HTTP_DONE;
    if (is_refusal(exchange)) {
        set_refusal(exchange);
    } else if (!whole && !failed && !ik_stream_has_ended(exchange->stream) &&
               !ik_stream_is_visible(exchange->stream)) {
        const outcome_t *outcome = &outcomes[http_end->outcome];
        set_error(exchange, outcome->code, http_end->message, outcome->retryable || http_end->cut);
    }
    end(exchange, whole);
}

/* The answer is complete, but the server keeps the response open. */
static void on_grace(void *data)
{
    ik_exchange_t *exchange = data;
    TALLOC_FREE(exchange->http);
    end(exchange, true);
}

/* A sum that grows with every part of the answer, but not with events as such: a stuck server may
 * send pings or empty events forever. */
static size_t progress(const ik_stream_t *stream)
{
    size_t sum = stream->reasoning.len + stream->item_count;
    for (size_t i = 0; i < stream->item_count; i++) {
        const ik_stream_item_t *item = stream->items[i];
        sum +=
            item->call == NULL ? item->text.len : item->call->name.len + item->call->arguments.len;
    }
    return sum;
}

static void watch_idle(ik_exchange_t *exchange)
{
    exchange->progress = progress(exchange->stream);
    ik_timer_start(exchange->idle, exchange->options.shared->config->idle_stream_seconds * 1000);
}

static void on_idle(void *data)
{
    ik_exchange_t *exchange = data;
    if (progress(exchange->stream) != exchange->progress) {
        watch_idle(exchange);
        return;
    }
    if (is_refusal(exchange)) {
        set_refusal(exchange); /* before the request goes, and its head with it */
    } else if (!ik_stream_is_visible(exchange->stream)) {
        set_error(exchange, "idle", "the server sent only keep-alive events for too long", true);
    }
    TALLOC_FREE(exchange->http);
    end(exchange, false);
}

static void send_request(ik_exchange_t *exchange)
{
    const ik_request_t *request = exchange->options.request;
    const ik_provider_t *provider = request->target->provider;
    const ik_config_t *config = exchange->options.shared->config;
    ik_wire_format(exchange->options.wire, request, &exchange->body);
    ik_http_options_t options = {
        .url = provider->format_url(exchange, request),
        .headers = (const char *const *)provider->format_headers(exchange, request),
        .parts = exchange->body.parts,
        .part_count = exchange->body.count,
        .connect_ms = config->connect_timeout_seconds * 1000,
        .silence_ms = config->silence_timeout_seconds * 1000,
        .on_head = on_head,
        .on_body = on_body,
        .on_end = on_http_end,
        .data = exchange,
    };
    exchange->http = ik_http_start(exchange, exchange->options.shared->http, &options);
    exchange->idle = ik_timer_create(exchange, exchange->options.shared->loop, on_idle, exchange);
    exchange->grace = ik_timer_create(exchange, exchange->options.shared->loop, on_grace, exchange);
    watch_idle(exchange);
}

/* --- a provider without a server --------------------------------------------------------- */

static void on_cue(void *data)
{
    ik_exchange_t *exchange = data;
    const ik_request_t *request = exchange->options.request;
    request->target->provider->answer(exchange->stream, request);
    end(exchange, true);
}

/* The key was forgotten (/logout) after the model was chosen. */
static void on_missing_key(void *data)
{
    ik_exchange_t *exchange = data;
    const ik_config_provider_t *config = exchange->options.request->target->config;
    const char *why =
        config->key_held ? "has a key that may not be sent to its address" : "has no key";
    set_error(exchange, "no_key", ik_sprintf(exchange, "%s %s", config->name, why), false);
    exchange->stream->error.fault = IK_FAULT_AUTH;
    end(exchange, false);
}

ik_exchange_t *ik_exchange_start(const void *ctx, const ik_exchange_options_t *options)
{
    ik_exchange_t *exchange = ik_new(ctx, ik_exchange_t);
    const ik_target_t *target = options->request->target;
    bool local = target->provider->answer != NULL;
    bool keyless = !target->config->configured || target->config->key_held;
    exchange->options = *options;
    exchange->stream = ik_stream_create(exchange, target, &options->listener);
    ik_buffer_init(&exchange->error_body, exchange, ERROR_BODY_MAX);
    if (local || keyless) {
        exchange->cue = ik_timer_create(exchange, options->shared->loop,
                                        keyless ? on_missing_key : on_cue, exchange);
        ik_timer_start(exchange->cue, 0);
    } else {
        send_request(exchange);
    }
    return exchange;
}

ik_stream_t *ik_exchange_stream(ik_exchange_t *exchange)
{
    return exchange->stream;
}

int64_t ik_exchange_silent_ms(const ik_exchange_t *exchange)
{
    return is_answer(exchange) && !ik_stream_has_ended(exchange->stream)
               ? ik_clock_now_ms() - exchange->received_ms
               : -1;
}

size_t ik_exchange_sent(const ik_exchange_t *exchange)
{
    return exchange->body.text;
}

/*
 * HTTP requests on the loop: libcurl's multi interface, which gives us TLS, HTTP/2, proxies,
 * connection reuse and decompression. libcurl brings dozens of libraries with it, so it is not
 * linked but loaded, in a worker thread, when the first request is near.
 *
 * A request ends in exactly one on_end, which comes from the loop and never from inside a call of
 * this interface. Redirects are not followed: an API key must not travel.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/loop.h"

typedef struct ik_http ik_http_t;
typedef struct ik_http_request ik_http_request_t;

typedef enum {
    IK_HTTP_DONE,          /* the response is complete, whatever its status */
    IK_HTTP_UNAVAILABLE,   /* libcurl cannot be loaded */
    IK_HTTP_BAD_REQUEST,   /* the URL cannot be used */
    IK_HTTP_NO_CONNECTION, /* name, route, refused, proxy: nothing was sent */
    IK_HTTP_CONNECT_TIMEOUT,
    IK_HTTP_TLS,     /* handshake or certificate */
    IK_HTTP_BROKEN,  /* the connection was lost, or what came is not HTTP or not its encoding */
    IK_HTTP_SILENT,  /* no byte in either direction for silence_ms */
    IK_HTTP_REFUSED, /* on_body returned false */
} ik_http_outcome_t;

/* Bytes that someone else owns. */
typedef struct {
    const char *bytes;
    size_t len;
} ik_http_part_t;

/* Of a response, valid until on_end returns. */
typedef struct ik_http_head ik_http_head_t;
int ik_http_head_status(const ik_http_head_t *head);
/* Value without surrounding white space, the last one of that name in any case; NULL: not there. */
const char *ik_http_head_value(const ik_http_head_t *head, const char *name);

typedef struct {
    ik_http_outcome_t outcome;
    const char *message; /* one line for people; NULL when DONE */
    bool answered;       /* on_head was called */
    bool new_connection; /* it could not use a connection kept from an earlier request */
} ik_http_end_t;

/* Strings and headers are copied; the parts' bytes must stay until the end. */
typedef struct {
    const char *url;
    const char *const *headers;  /* "Name: value", NULL-terminated; may be secret */
    const ik_http_part_t *parts; /* of the body of a POST */
    size_t part_count;           /* 0: a GET */
    int64_t connect_ms;
    int64_t silence_ms;
    /* Once, before the body, for the final response (never 1xx or a proxy's CONNECT). */
    void (*on_head)(void *data, const ik_http_head_t *head);
    /* Decompressed bytes as they come; false ends the request as REFUSED. */
    bool (*on_body)(void *data, const char *bytes, size_t len);
    void (*on_end)(void *data, const ik_http_end_t *end);
    void *data;
} ik_http_options_t;

/* Costs nothing yet. All requests must be freed before it, and it must not be freed from inside one
 * of their callbacks. */
ik_http_t *ik_http_create(const void *ctx, ik_loop_t *loop);

/* Begins to load the library if that has not happened, without waiting for it. Starting a request
 * does the same; whoever knows earlier that there will be one saves that time. */
void ik_http_prepare(ik_http_t *http);

/* Freeing the request, from a callback of its own too, ends it silently. It frees itself after
 * on_end. */
ik_http_request_t *ik_http_start(const void *ctx, ik_http_t *http,
                                 const ik_http_options_t *options);

/* For `ikigai doctor`: loads the library now and names it with its version ("libcurl/7.88.1
 * OpenSSL/3.0.15 …"). */
res_t ik_http_describe(const void *ctx, char **out);

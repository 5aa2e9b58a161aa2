/*
 * HTTP requests on the event loop, by libcurl's multi interface, which provides TLS, HTTP/2,
 * proxies, connection reuse and decompression. libcurl is not linked but loaded in a worker thread
 * before the first request (curl_library.h).
 *
 * A request ends with exactly one call of on_end, which comes from the loop and never from inside a
 * function of this interface. Redirects are not followed, so that an API key is only sent to the
 * configured host.
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
    IK_HTTP_NO_CONNECTION, /* name, route, refused, proxy: no request was sent */
    IK_HTTP_CONNECT_TIMEOUT,
    IK_HTTP_TLS,     /* handshake or certificate */
    IK_HTTP_BROKEN,  /* connection lost, response not HTTP, or its encoding invalid */
    IK_HTTP_SILENT,  /* no byte in either direction for silence_ms */
    IK_HTTP_REFUSED, /* on_body returned false */
} ik_http_outcome_t;

/* Bytes owned by the caller. */
typedef struct {
    const char *bytes;
    size_t len;
} ik_http_part_t;

/* The head of a response, valid until on_end returns. */
typedef struct ik_http_head ik_http_head_t;
int ik_http_head_status(const ik_http_head_t *head);
/* The value of the last header of that name (case is ignored), without surrounding white space;
 * NULL when there is none. */
const char *ik_http_head_value(const ik_http_head_t *head, const char *name);
/* The values of all headers of that name, on ctx, as one list with commas; NULL when there is
 * none. */
char *ik_http_head_list(const void *ctx, const ik_http_head_t *head, const char *name);

typedef struct {
    ik_http_outcome_t outcome;
    const char *message; /* one line for the user; NULL when DONE */
    bool answered;       /* on_head was called */
    bool new_connection; /* no connection of an earlier request was reused */
    bool cut;            /* with TLS: the connection was lost, which another attempt may cure */
} ik_http_end_t;

/* Strings and headers are copied; the parts' bytes must stay valid until on_end. */
typedef struct {
    const char *url;
    const char *const *headers;  /* "Name: value", NULL-terminated; may be secret */
    const ik_http_part_t *parts; /* of the body of a POST */
    size_t part_count;           /* 0: a GET */
    const char *method;          /* another one, static text; NULL: GET or POST */
    int64_t connect_ms;
    int64_t silence_ms;
    /* Called once, before the body, for the final response (not for 1xx or a proxy's CONNECT). */
    void (*on_head)(void *data, const ik_http_head_t *head);
    /* Called with decompressed bytes as they arrive; false ends the request as REFUSED. */
    bool (*on_body)(void *data, const char *bytes, size_t len);
    void (*on_end)(void *data, const ik_http_end_t *end);
    void *data;
} ik_http_options_t;

/* Does not load libcurl yet. All requests must be freed before the result, which must not be freed
 * from inside one of their callbacks. */
ik_http_t *ik_http_create(const void *ctx, ik_loop_t *loop);

/* Begins to load libcurl in the background, unless that has happened. ik_http_start does it as
 * well; an earlier call saves the first request that time. */
void ik_http_prepare(ik_http_t *http);

/* The request frees itself after on_end. Freeing it earlier, even from its own callback, ends it
 * without on_end. */
ik_http_request_t *ik_http_start(const void *ctx, ik_http_t *http,
                                 const ik_http_options_t *options);

/* For `ikigai doctor`: loads the library now and names it with its version ("libcurl/7.88.1
 * OpenSSL/3.0.15 …"). */
res_t ik_http_describe(const void *ctx, char **out);

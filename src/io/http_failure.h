/*
 * What went wrong with a request, for the program and for people. A message names the host and
 * never holds a header, a key, or the user and password of a URL.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/curl_library.h"
#include "io/http.h"

typedef struct {
    ik_http_outcome_t outcome;
    const char *url;
    const char *detail; /* what libcurl, the system or we say about it; not NULL */
    int connect_errno;  /* why connecting failed, 0: not known */
    int64_t limit_ms;   /* of an outcome that is about time */
} ik_http_failure_t;

/* libcurl's verdict; sent: there was a connection, and the request was on its way. */
ik_http_outcome_t ik_http_failure_outcome(CURLcode code, bool sent);

/* One line; NULL for DONE. curl may be NULL only when UNAVAILABLE. */
char *ik_http_failure_describe(const void *ctx, const ik_curl_library_t *curl,
                               const ik_http_failure_t *failure);

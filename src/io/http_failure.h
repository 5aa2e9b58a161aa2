/*
 * Classifies and describes a failed request. A message names the host and never contains a header,
 * a key, or the user and password of a URL.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/curl_library.h"
#include "io/http.h"

typedef struct {
    ik_http_outcome_t outcome;
    const char *url;
    const char *detail; /* the cause, often in libcurl's words; not NULL */
    int connect_errno;  /* why connecting failed; 0: not known */
    int64_t limit_ms;   /* the limit that was exceeded, for a timeout */
} ik_http_failure_t;

/* Maps libcurl's code. sent: a connection existed and the request was being sent. */
ik_http_outcome_t ik_http_failure_outcome(CURLcode code, bool sent);

/* Whether the connection was lost while it was being secured, rather than refused. */
bool ik_http_failure_is_cut(const ik_http_failure_t *failure);

/* One line; NULL for DONE. curl may be NULL only when UNAVAILABLE. */
char *ik_http_failure_describe(const void *ctx, const ik_curl_library_t *curl,
                               const ik_http_failure_t *failure);

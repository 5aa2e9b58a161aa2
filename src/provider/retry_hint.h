/*
 * How long a server wants to be left alone, in milliseconds, from the many ways servers say so. -1
 * means that it said nothing, or nothing that can be understood. Pure: now is the wall clock in
 * seconds; when it is negative, dates say nothing.
 */
#pragma once

#include <stdint.h>

/* A response header, or NULL. */
typedef const char *ik_retry_hint_header_fn(void *data, const char *name);

/* retry-after-ms, else retry-after in seconds or as an HTTP date. */
int64_t ik_retry_hint_from_headers(ik_retry_hint_header_fn *header, void *data, int64_t now);
/* From the rate limit headers: when those limits of which nothing remains are reset. */
int64_t ik_retry_hint_from_limits(ik_retry_hint_header_fn *header, void *data, int64_t now);
/* From a message: "… Please try again in 6.57s." */
int64_t ik_retry_hint_from_message(const char *message);
/* A duration: 120ms, 6.57s, 1m30s, 20 seconds. */
int64_t ik_retry_hint_parse_duration(const char *text);

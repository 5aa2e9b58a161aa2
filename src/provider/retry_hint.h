/*
 * How long to wait before a retry, in milliseconds, from the various hints that servers give. -1
 * means that there is no hint, or none that can be read. Pure: now is the wall clock in seconds;
 * when it is negative, dates are ignored.
 */
#pragma once

#include <stdint.h>

/* Returns a response header, or NULL. */
typedef const char *ik_retry_hint_header_fn(void *data, const char *name);

/* From retry-after-ms or retry-after, which holds seconds or an HTTP date. */
int64_t ik_retry_hint_from_headers(ik_retry_hint_header_fn *header, void *data, int64_t now);
/* From the rate limit headers: when the last of the exhausted limits is reset. */
int64_t ik_retry_hint_from_limits(ik_retry_hint_header_fn *header, void *data, int64_t now);
/* From a message: "… Please try again in 6.57s." */
int64_t ik_retry_hint_from_message(const char *message);
/* Parses a duration: 120ms, 6.57s, 1m30s, 20 seconds. */
int64_t ik_retry_hint_parse_duration(const char *text);

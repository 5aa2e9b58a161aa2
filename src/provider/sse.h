/*
 * A parser for server-sent events by the WHATWG rules, fed with bytes in pieces of any size. It
 * handles a BOM, lines that end in CR, LF or CRLF, comments, several data lines and colons without
 * a space. Pure: no I/O.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IK_SSE_EVENT_MAX = 32 * 1024 * 1024 }; /* encrypted reasoning and images are large */

typedef struct ik_sse ik_sse_t;

/* Called from ik_sse_feed and ik_sse_finish. data is NUL-terminated and valid inside the callback;
 * event is "" when the stream names none. Return false to stop: no further event is dispatched. The
 * callback must not free the parser. */
typedef bool (*ik_sse_fn)(void *user, const char *event, const char *data, size_t len);

ik_sse_t *ik_sse_create(const void *ctx, ik_sse_fn on_event, void *user);

/* False when an event exceeds IK_SSE_EVENT_MAX, or after a callback returned false. */
bool ik_sse_feed(ik_sse_t *sse, const char *bytes, size_t len);
/* The id of the last event, also of one without data; NULL: none had one. An event that has no
 * blank line yet does not count. Valid until the next feed. */
const char *ik_sse_last_id(const ik_sse_t *sse);
/* How long to wait before a connection is made again; -1: the stream does not say. */
int64_t ik_sse_retry_ms(const ik_sse_t *sse);
/* Ends the stream: dispatches an event whose blank line is missing. */
bool ik_sse_finish(ik_sse_t *sse);

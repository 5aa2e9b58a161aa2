/*
 * Server-sent events by the WHATWG rules: bytes in any pieces, events out. BOM, CR, LF and CRLF,
 * comments, several data lines, no space after the colon. Pure: no I/O.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { IK_SSE_EVENT_MAX = 32 * 1024 * 1024 }; /* encrypted reasoning and images are large */

typedef struct ik_sse ik_sse_t;

/* data is NUL-terminated and valid inside the callback; event is "" when the stream named none.
 * Return false to stop: nothing more is dispatched. The parser must not be freed from here. */
typedef bool (*ik_sse_fn)(void *user, const char *event, const char *data, size_t len);

ik_sse_t *ik_sse_create(const void *ctx, ik_sse_fn on_event, void *user);

/* False when an event exceeds IK_SSE_EVENT_MAX, or after a callback returned false. */
bool ik_sse_feed(ik_sse_t *sse, const char *bytes, size_t len);
/* The end of the stream: dispatches an event whose blank line is missing. */
bool ik_sse_finish(ik_sse_t *sse);

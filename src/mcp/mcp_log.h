/*
 * The last things a server said besides its answers: log messages and lines of standard error, for
 * `ikigai mcp show`. Bounded, whatever the server sends.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct ik_mcp_log ik_mcp_log_t;

ik_mcp_log_t *ik_mcp_log_create(const void *ctx);
/* text need not be UTF-8. */
void ik_mcp_log_add(ik_mcp_log_t *log, const char *level, const char *text, size_t len);
/* Takes bytes of standard error, cut anywhere. */
void ik_mcp_log_feed(ik_mcp_log_t *log, const char *bytes, size_t len);
/* No more of standard error is read: a last line without its newline counts as well. */
void ik_mcp_log_end(ik_mcp_log_t *log);
/* The end of standard error as it was printed, on ctx. */
char *ik_mcp_log_tail(const void *ctx, const ik_mcp_log_t *log);
/* Forgets the end of standard error: another process begins. */
void ik_mcp_log_restart(ik_mcp_log_t *log);

/* [{"level", "text"}], a new reference, and back: entries of earlier runs come first. */
json_t *ik_mcp_log_to_json(ik_mcp_log_t *log);
void ik_mcp_log_load(ik_mcp_log_t *log, json_t *entries);
/* Whether something was added since it was written. */
bool ik_mcp_log_is_new(const ik_mcp_log_t *log);

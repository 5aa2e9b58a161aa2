/*
 * The envelope around every tool result, which tells a tool's own answer from a failure of running
 * it:
 *
 *   {"tool_success":true,"result":…}
 *   {"tool_success":false,"error":…,"error_code":…,"exit_code":N,"stdout":…,"stderr":…}
 *
 * The tool's bytes are spliced in unchanged, never parsed and printed again. Pure text work, no
 * I/O.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/json.h"

#define IK_TOOL_TIMEOUT "TOOL_TIMEOUT"
#define IK_TOOL_CRASHED "TOOL_CRASHED"
#define IK_TOOL_INVALID_OUTPUT "INVALID_OUTPUT"
#define IK_TOOL_NOT_FOUND "TOOL_NOT_FOUND"
#define IK_TOOL_INVALID_PARAMS "INVALID_PARAMS"
#define IK_TOOL_INTERRUPTED "INTERRUPTED"
#define IK_TOOL_PERMISSION_DENIED "PERMISSION_DENIED"

/* Wraps a scanned result; its bytes that are not UTF-8 become U+FFFD. Text over max_output bytes is
 * cut and marked; note is added when it is not NULL. */
char *ik_tool_wrap_success(const void *ctx, ik_json_span_t result, size_t max_output,
                           const char *note);
/* The same, made of the memory of the buffer the result stands in: a long result is never there
 * twice. The buffer is empty afterwards; the envelope lives as long as ctx (ik_buffer_take). */
char *ik_tool_wrap_take_success(const void *ctx, ik_buffer_t *printed, ik_json_span_t result,
                                size_t max_output, const char *note);

typedef struct {
    const char *error;
    const char *code;
    int exit_code; /* -1: there was none, sent as null */
    const char *out;
    size_t out_len;
    const char *err;
    size_t err_len;
    const char *note; /* or NULL */
} ik_tool_failure_t;

/* What the tool printed is shortened to IK_TOOL_WRAP_SHOWN bytes each, or to max_output. */
enum { IK_TOOL_WRAP_SHOWN = 65536 };
char *ik_tool_wrap_failure(const void *ctx, const ik_tool_failure_t *failure, size_t max_output);
/* For a call that was ended before the tool was done; out of failure is not used, but what was
 * printed. Where that is an answer with a text in output (what bash prints on SIGTERM), stdout is
 * this text, up to max_output, and not the JSON around it. Made of the memory of the buffer, which
 * is empty afterwards or no longer needed. */
char *ik_tool_wrap_take_unfinished(const void *ctx, ik_buffer_t *printed,
                                   const ik_tool_failure_t *failure, size_t max_output);

/* Adds limit_reached and limit_message to an envelope: in its result when that is an object, else
 * beside it. */
char *ik_tool_wrap_add_limit(const void *ctx, const char *envelope, long max_tool_turns);

/* JSON Schema of the envelope around a tool's declared returns (NULL: not declared). New
 * reference. */
json_t *ik_tool_wrap_returns(json_t *returns);

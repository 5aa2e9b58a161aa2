/*
 * The envelope around every tool result, which distinguishes the answer of a tool from a failure to
 * run it:
 *
 *   {"tool_success":true,"result":…}
 *   {"tool_success":false,"error":…,"error_code":…,"exit_code":N,"stdout":…,"stderr":…}
 *
 * The bytes of the tool are inserted unchanged, not parsed and formatted again.
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

/* Wraps a scanned result. Bytes that are not UTF-8 become U+FFFD. Text beyond max_output bytes is
 * cut, and the envelope says so. note is added unless it is NULL. */
char *ik_tool_wrap_success(const void *ctx, ik_json_span_t result, size_t max_output,
                           const char *note);
/* As ik_tool_wrap_success, but builds the envelope in the buffer that contains the result, so that
 * a long result is never in memory twice. The buffer is empty afterwards; the envelope lives as
 * long as ctx (ik_buffer_take). */
char *ik_tool_wrap_take_success(const void *ctx, ik_buffer_t *printed, ik_json_span_t result,
                                size_t max_output, const char *note);

typedef struct {
    const char *error;
    const char *code;
    int exit_code; /* -1: none, becomes null */
    const char *out;
    size_t out_len;
    const char *err;
    size_t err_len;
    const char *note; /* or NULL */
} ik_tool_failure_t;

/* stdout and stderr are cut to IK_TOOL_WRAP_SHOWN bytes each, or to max_output if that is less. */
enum { IK_TOOL_WRAP_SHOWN = 65536 };
char *ik_tool_wrap_failure(const void *ctx, const ik_tool_failure_t *failure, size_t max_output);
/* The error of a call that took too long. idle: it made no progress in that time. */
char *ik_tool_wrap_describe_timeout(const void *ctx, const char *tool, int64_t ms, bool idle);
/* The failure of a call that was not run. */
char *ik_tool_wrap_refusal(const void *ctx, const char *code, const char *error);
/* For a tool that was stopped before it was done. stdout is printed, not failure->out. If printed
 * is JSON with a text in output, as bash prints on SIGTERM, stdout is only this text, up to
 * max_output. The envelope may be built in the buffer, which must not be used afterwards. */
char *ik_tool_wrap_take_unfinished(const void *ctx, ik_buffer_t *printed,
                                   const ik_tool_failure_t *failure, size_t max_output);

/* Adds limit_reached and limit_message to the result in an envelope, or to the envelope itself when
 * the result is not an object. */
char *ik_tool_wrap_add_limit(const void *ctx, const char *envelope, long max_tool_turns);

/* Adds the limits of a confined call to an envelope that reports a failure: tool_success is false,
 * or the result has an error (not null) or an exit code other than 0. Returns the envelope itself
 * otherwise, and for an error of the host channel, which has nothing to do with them. */
char *ik_tool_wrap_add_confined(const void *ctx, char *envelope, const char *confined);
/* Adds the name of the limit that ended the tool. */
char *ik_tool_wrap_add_ended_by(const void *ctx, char *envelope, const char *limit);
/* Adds a member, whose value is JSON text. */
char *ik_tool_wrap_add_member(const void *ctx, const char *envelope, const char *key,
                              const char *json);
/* Adds a note to an envelope, or appends it to the one that is there. */
char *ik_tool_wrap_add_note(const void *ctx, char *envelope, const char *note);

/* JSON Schema of the envelope around the declared returns of a tool (NULL: not declared), a new
 * reference. */
json_t *ik_tool_wrap_returns(json_t *returns);

/*
 * The protocol of the host channel, by which a running tool asks ikigai for something: one JSON
 * object per line over a stream socket. docs/tool-protocol.md describes it for authors of tools.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
    IK_HOST_LINE_MAX = 1024 * 1024, /* bytes of a line, without its newline */
    IK_HOST_OPEN_MAX = 16,          /* requests of one call that are open at a time */
};

/* What a tool may declare as "host" in its schema; a set of them is an unsigned. */
typedef enum {
    IK_HOST_ASK = 1 << 0,
    IK_HOST_AGENT = 1 << 1,
    IK_HOST_COMPLETE = 1 << 2,
    IK_HOST_JOB = 1 << 3, /* to run in the background, as bash does */
} ik_host_op_t;

/* 0: there is no op of this name. */
unsigned ik_host_op_parse(const char *name);
/* The names of the ops in a set, by index; NULL after the last. */
const char *ik_host_op_name(unsigned ops, size_t index);

/* error_code of an answer */
#define IK_HOST_INVALID_REQUEST "INVALID_REQUEST"
#define IK_HOST_TOO_LARGE "TOO_LARGE"
#define IK_HOST_UNKNOWN_OP "UNKNOWN_OP"
#define IK_HOST_NOT_DECLARED "NOT_DECLARED"
#define IK_HOST_LIMIT "LIMIT"
#define IK_HOST_NO_USER "NO_USER"
#define IK_HOST_DECLINED "DECLINED"
#define IK_HOST_UNKNOWN_AGENT "UNKNOWN_AGENT"
#define IK_HOST_MODEL_ERROR "MODEL_ERROR"
#define IK_HOST_CANCELLED "CANCELLED"

/* Whether a code is one of these. */
bool ik_host_is_error(const char *code);

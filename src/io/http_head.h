/*
 * The head of a response, collected line by line from libcurl. The head of an interim response
 * (1xx) comes first and is dropped when the next head begins.
 */
#pragma once

#include "base/buffer.h"
#include "io/http.h"

enum { IK_HTTP_HEAD_MAX = 256 * 1024 }; /* bytes of all lines, interim responses included */

typedef enum {
    IK_HTTP_HEAD_MORE,
    IK_HTTP_HEAD_COMPLETE, /* this line was the last one of the final response's head */
    IK_HTTP_HEAD_TOO_LARGE,
} ik_http_head_state_t;

struct ik_http_head {
    int status;
    size_t total;      /* bytes of all lines so far */
    ik_buffer_t lines; /* "Name: value", each with its NUL */
};

void ik_http_head_init(ik_http_head_t *head, const void *ctx);
ik_http_head_state_t ik_http_head_add(ik_http_head_t *head, const char *line, size_t len);

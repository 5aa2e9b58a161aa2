/*
 * What somebody who has no language model may ask for in plain words: requests that map to one
 * tool call. Pure.
 */
#pragma once

#include "provider/request.h"

typedef struct {
    const char *tool;      /* NULL: there is no call to make */
    const char *arguments; /* a JSON object */
    const char *problem;   /* why an understood request cannot be met; NULL */
} ik_offline_command_t;

/* Strings are on ctx or belong to the request. */
void ik_offline_command_parse(const void *ctx, const char *text, const ik_request_t *request,
                              ik_offline_command_t *command);
/* Appends a list, in Markdown, of what is understood with the tools at hand. */
void ik_offline_command_describe(ik_buffer_t *out, const ik_request_t *request);

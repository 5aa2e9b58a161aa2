/*
 * Parses the requests that the offline provider understands: plain words that stand for one tool
 * call. Pure.
 */
#pragma once

#include "provider/request.h"

typedef struct {
    const char *tool;      /* NULL: there is no call to make */
    const char *arguments; /* a JSON object */
    const char *problem;   /* why a request that was understood cannot be met; NULL: none */
    bool greeting;         /* "hi", "hello" or "help": the user asks what can be tried */
} ik_offline_command_t;

/* Strings in *command are on ctx or belong to the request. */
void ik_offline_command_parse(const void *ctx, const char *text, const ik_request_t *request,
                              ik_offline_command_t *command);
/* Appends a Markdown list of examples that work with the request's tools. */
void ik_offline_command_suggest(ik_buffer_t *out, const ik_request_t *request);
/* Appends a Markdown list of the requests that are understood with the request's tools. */
void ik_offline_command_describe(ik_buffer_t *out, const ik_request_t *request);

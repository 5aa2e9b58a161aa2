/*
 * Asks the model for a summary of a conversation: one request, one answer, no second attempt. The
 * answer is usable when it is whole, has text and calls no tool.
 */
#pragma once

#include "agent/exchange.h"

typedef struct ik_summariser ik_summariser_t;

typedef struct {
    const char *text; /* the summary; NULL: the answer is not usable */
    const char *why;  /* then: why not, as the end of a sentence */
    const ik_stream_t *stream;
    size_t sent; /* bytes of the request */
} ik_summariser_result_t;

typedef struct {
    const ik_shared_ctx_t *shared;
    /* The request that would be sent next. It lives until the end; the summariser completes it. */
    ik_request_t *request;
    ik_wire_t *wire;
    const char *prompt;
    const char *focus; /* what the user wants to be kept; NULL: not given */
    /* The result is valid inside the callback, which may free the summariser. */
    void (*on_end)(void *data, const ik_summariser_result_t *result);
    void *data;
} ik_summariser_options_t;

/* Reads the prompt: the user's file, or the shipped one. NULL when neither can be used. *problem,
 * on ctx, says what is wrong with the user's file, or with both; NULL: nothing. */
char *ik_summariser_read_prompt(const void *ctx, const ik_shared_ctx_t *shared, char **problem);

/* on_end is called exactly once, later, from the loop. Freeing the summariser cancels it. */
ik_summariser_t *ik_summariser_start(const void *ctx, const ik_summariser_options_t *options);
/* See ik_agent_silent_ms. */
int64_t ik_summariser_silent_ms(const ik_summariser_t *summariser);

/*
 * A request over the host channel, made inside a tool (host_protocol.h): blocks until it is
 * answered. Used by shipped tools and by `ikigai host`. Programs of one call share its channel, so
 * that they take turns: a lock on the socket keeps one from reading the answer to another.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"

typedef struct {
    char *result; /* a JSON object; NULL: the request failed */
    size_t result_len;
    char *code; /* then: the error code */
    char *error;
} ik_host_answer_t;

/* Adds an id to request, which is borrowed, sends it and waits for the answer, whose texts are on
 * ctx. Progress of the request becomes progress of the call (IKIGAI_PROGRESS_FD).
 * IK_ERR_NOT_FOUND: this process has no host channel; another error: the channel was closed. */
res_t ik_host_client_run(const void *ctx, json_t *request, ik_host_answer_t *answer);
/* Closes the channel, if there is one, and removes it from the environment, so that programs which
 * this process starts have none. */
void ik_host_client_drop(void);
/* Cancels the request that is open, if there is one; may be called by a signal handler that ends
 * the process afterwards. */
void ik_host_client_cancel(void);

/*
 * One answer of a model to one prompt, without tools: a turn of an agent that is stored nowhere.
 * Refused fields, retries and answers that come in parts are therefore treated as in every turn.
 */
#pragma once

#include "agent/agent.h"

typedef struct ik_completion ik_completion_t;

typedef struct {
    const char *text;  /* NULL: failed */
    const char *error; /* then: why, one sentence */
    ik_usage_t usage;  /* also of failures, as far as it is known */
    double cost;       /* USD; negative: not known */
} ik_completion_result_t;

typedef struct {
    ik_shared_ctx_t *shared;
    const ik_target_t *target; /* outlives the completion */
    const char *prompt;
    const char *system; /* NULL: none */
    const char *schema; /* the JSON Schema of the answer as text; NULL: any text */
    long max_tokens;    /* 0: as configured */
    void (*on_wait)(void *data, const char *why); /* before another attempt; may be NULL */
    /* The result is valid inside the callback, which may free the completion. */
    void (*on_end)(void *data, const ik_completion_result_t *result);
    void *data;
} ik_completion_options_t;

/* Strings are copied. on_end is called exactly once, later, from the loop. Freeing the completion
 * cancels it. */
ik_completion_t *ik_completion_start(const void *ctx, const ik_completion_options_t *options);

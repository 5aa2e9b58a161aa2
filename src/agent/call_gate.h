/*
 * The one place between a model's call and its start. Every call of every agent passes the gate,
 * which decides asynchronously: run it, run it with other arguments, or deny it with a reason that
 * the model reads. call_batch only obeys.
 */
#pragma once

#include "conversation/message.h"
#include "tool/tool_registry.h"

/* What is decided about. Valid until the verdict, or until the decision is given up. */
typedef struct {
    int64_t agent; /* its number in the session */
    const char *id;
    const char *name;      /* as the model wrote it */
    const char *arguments; /* JSON text */
    size_t arguments_len;
    const ik_tool_registry_entry_t *entry; /* NULL: there is no such tool */
} ik_call_t;

typedef struct {
    const char *denied; /* why the call is not run; NULL: it is */
    /* Arguments to run it with instead of the model's; NULL: the model's own. */
    const char *arguments;
    size_t arguments_len;
} ik_call_verdict_t;

typedef void (*ik_call_verdict_fn)(void *data, const ik_call_verdict_t *verdict);

typedef struct {
    /* Decides on a call and says so through on_verdict exactly once: before this returns, and then
     * it returns NULL, or later from the loop. Freeing what it returns gives the decision up:
     * on_verdict does not come. The texts of a verdict are valid inside the callback only. */
    void *(*decide)(void *gate, const void *ctx, const ik_call_t *call,
                    ik_call_verdict_fn on_verdict, void *data);
    void *gate; /* the first argument of decide */
} ik_call_gate_t;

/* Every call runs as it is. */
extern const ik_call_gate_t ik_call_gate_open;

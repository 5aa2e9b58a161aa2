/*
 * Approves tool calls. Every call of every agent passes the gate before it starts. The gate decides
 * asynchronously: run the call, run it with other arguments, or deny it with a reason for the
 * model.
 */
#pragma once

#include "conversation/message.h"
#include "hook/hooks.h"
#include "tool/tool_runner.h"

/* The call to decide on. Valid until the verdict, or until the decision is cancelled. */
typedef struct {
    int64_t agent; /* number in the session */
    const char *id;
    const char *name;      /* as the model wrote it */
    const char *arguments; /* JSON text */
    size_t arguments_len;
    const ik_tool_registry_entry_t *entry; /* NULL: there is no such tool */
    /* What hooks say about it; NULL: nothing. */
    const ik_hook_outcome_t *hooks;
    bool reviewed; /* hooks were asked (call_review.h); otherwise the gate asks them */
    bool followed; /* hooks run after it, which may change any file */
} ik_call_t;

typedef struct {
    const char *denied;    /* why the call must not run; NULL: it may */
    const char *arguments; /* replaces the model's arguments; NULL: keeps them */
    size_t arguments_len;
    ik_process_host_t *room; /* where the call runs; NULL: unconfined */
    const char *confined;    /* the limits of the room, for the model; NULL: none */
    bool open_places;        /* the room does not protect the project's protected places */
    bool may_write;          /* files that undo covers */
    const char *code;        /* with denied: the error code; NULL: PERMISSION_DENIED */
    const char *said;        /* by hooks that the gate asked, for the model; NULL: nothing */
} ik_call_verdict_t;

/* A copy of a verdict that allows the call. The room is not copied. */
ik_call_verdict_t *ik_call_verdict_copy(const void *ctx, const ik_call_verdict_t *verdict);

typedef void (*ik_call_verdict_fn)(void *data, const ik_call_verdict_t *verdict);

typedef struct {
    /* Calls on_verdict exactly once: either before it returns, and then it returns NULL, or later
     * from the loop. Freeing the returned object cancels the decision; on_verdict is then not
     * called. The strings of a verdict are valid inside the callback only. */
    void *(*decide)(void *gate, const void *ctx, const ik_call_t *call,
                    ik_call_verdict_fn on_verdict, void *data);
    /* A call of this tool will probably follow. Returns whether it may write. NULL: it may. */
    bool (*expect)(void *gate, int64_t agent, const ik_tool_registry_entry_t *entry);
    void *gate; /* the first argument of both */
} ik_call_gate_t;

/* Lets every call run unchanged. */
extern const ik_call_gate_t ik_call_gate_open;

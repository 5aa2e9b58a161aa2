/*
 * How one tool call is run. A registry entry names its runner: an executable of its own process is
 * one kind (tool_external.h). Nothing above tool/ asks which kind a tool is.
 *
 * A call never fails: a tool that is missing, crashes, hangs or prints rubbish has a result like
 * any other, an envelope (tool_wrapper.h) that says what happened.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "io/process.h"
#include "tool/tool_registry.h"

/* What all calls share; it outlives them. */
typedef struct {
    ik_process_host_t *host;
    const ik_config_t *config;
    const char *folder; /* the project's: working folder of the tools */
} ik_tool_context_t;

typedef struct {
    char *envelope; /* exactly what the model gets */
    void *owner;    /* of the envelope; steal it to keep the envelope */
    bool success;   /* its tool_success */
    /* What a successful tool wrote to stderr, as UTF-8 and bounded: for people, not for the model.
     * NULL: nothing, or it is in the envelope. */
    char *err;
    int64_t wall_ms;
    int64_t cpu_us;
    int64_t max_rss_kb;
} ik_tool_result_t;

typedef struct {
    const char *name;      /* as the model wrote it */
    const char *arguments; /* JSON text */
    size_t arguments_len;
    const char *call_id;
    const char *session_id;
    /* text is decoded and NUL-terminated; may be NULL */
    void (*on_progress)(void *data, const char *text, size_t len);
    /* The result belongs to the call, which is freed when this returns. */
    void (*on_end)(void *data, const ik_tool_result_t *result);
    void *data;
} ik_tool_request_t;

typedef struct ik_tool_call ik_tool_call_t;

/* One kind of running. */
struct ik_tool_runner {
    /* Starts the call; entry and context outlive it. on_end comes from the loop, later, exactly
     * once, and its receiver frees what this returns, then or later. Freeing it earlier ends the
     * tool silently. */
    void *(*start)(const void *ctx, const ik_tool_context_t *context,
                   const ik_tool_registry_entry_t *entry, const ik_tool_request_t *request);
    /* Ends the tool; its result is INTERRUPTED and comes from the loop, later. */
    void (*cancel)(void *call);
};

/* Finds the tool and has its runner start the call. A name that registry does not have, or
 * arguments that are not a JSON object, give a result without a process. registry may be NULL (no
 * tools) and must live until on_end, which comes from the loop, later, exactly once. Freeing the
 * call ends the tool silently. */
ik_tool_call_t *ik_tool_call_start(const void *ctx, const ik_tool_context_t *context,
                                   const ik_tool_registry_t *registry,
                                   const ik_tool_request_t *request);
void ik_tool_call_cancel(ik_tool_call_t *call);

/* Blocks: runs the loop until the result is there, and returns it on ctx. The callbacks of request
 * are not called, except on_progress. */
ik_tool_result_t *ik_tool_call_run(const void *ctx, const ik_tool_context_t *context,
                                   const ik_tool_registry_t *registry,
                                   const ik_tool_request_t *request);

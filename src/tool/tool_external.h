/*
 * Runs one tool call in its own process and turns whatever happens into an envelope
 * (tool_wrapper.h). Never fails: a tool that is missing, crashes, hangs or prints rubbish is a
 * result like any other.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "io/process.h"
#include "tool/tool_registry.h"

/* What all calls share. */
typedef struct {
    ik_process_host_t *host;
    const ik_config_t *config;
    const char *folder; /* working folder of the tools: the project's */
} ik_tool_external_t;

typedef struct {
    char *envelope; /* exactly what the model gets */
    void *owner;    /* of the envelope: who wants to keep it takes this over */
    bool success;   /* its tool_success */
    /* What a successful tool wrote to stderr, as UTF-8 and bounded: for people, not for the model.
     * NULL: nothing, or it is in the envelope. */
    char *err;
    int64_t wall_ms;
    int64_t cpu_us;
    int64_t max_rss_kb;
} ik_tool_result_t;

typedef struct ik_tool_call_run ik_tool_call_run_t;

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

/* Starts the call; on_end comes from the loop, later, exactly once. registry may be NULL (no tools)
 * and must live until then. Freeing the call ends the tool silently. */
ik_tool_call_run_t *ik_tool_external_exec(const void *ctx, const ik_tool_external_t *external,
                                          const ik_tool_registry_t *registry,
                                          const ik_tool_request_t *request);

/* Ends the tool; its result is INTERRUPTED. */
void ik_tool_external_cancel(ik_tool_call_run_t *call);

/* The blocking form, for the command line: runs the loop until the result is there. The callbacks
 * of request are ignored but for on_progress. The result is allocated on ctx. */
ik_tool_result_t *ik_tool_external_run(const void *ctx, const ik_tool_external_t *external,
                                       const ik_tool_registry_t *registry,
                                       const ik_tool_request_t *request);

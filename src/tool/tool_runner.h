/*
 * Runs one tool call. Each registry entry has a runner; the runner of tool_external.h starts the
 * tool as a process. Code outside tool/ does not depend on the kind of runner.
 *
 * A call always has a result: when the tool is missing, crashes, hangs or prints invalid output,
 * the envelope (tool_wrapper.h) says so.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "confinement/confinement.h"
#include "conversation/message.h"
#include "io/process.h"
#include "tool/host_channel.h"
#include "tool/tool_registry.h"

typedef struct ik_tool_editor ik_tool_editor_t; /* tool_editor.h */

/* Shared by all calls; outlives them. */
typedef struct {
    ik_process_host_t *host;
    const ik_config_t *config;
    const char *folder;    /* the project, in which the tools run */
    const char *file_read; /* the program that reads files of images; NULL: they are not read */
    const char *images;    /* the folder for blobs of images; NULL: they are checked only */
    ik_confinement_t *confinement; /* makes the room in which images are scaled; NULL: the host's */
    const ik_tool_editor_t *editor;         /* that has the project open; NULL: none */
    const char *program;                    /* the path of ikigai, for tools with a host channel */
    const ik_host_operations_t *operations; /* what it serves; NULL: there is no host channel */
} ik_tool_context_t;

/* The bytes of output that a result may have. */
static inline size_t ik_tool_max_output(const ik_tool_context_t *context)
{
    return (size_t)context->config->max_output_size;
}

typedef struct {
    char *envelope; /* exactly what the model gets */
    void *owner;    /* the talloc parent of the texts (ik_tool_result_take) */
    bool success;   /* tool_success of the envelope */
    /* What a successful tool wrote to stderr, as UTF-8 and bounded, for the user and not for the
     * model. NULL: nothing, or it is in the envelope. */
    char *err;
    const ik_msg_image_t *images; /* of a successful tool, stored; on owner */
    size_t image_count;
    int64_t wall_ms;
    int64_t cpu_us;
    int64_t max_rss_kb;
    ik_msg_completions_t completions; /* what a model answered to the tool; texts on owner */
} ik_tool_result_t;

/* Keeps a result beyond its callback, on ctx. An envelope can have megabytes, so the texts are
 * taken over, not copied. */
ik_tool_result_t *ik_tool_result_take(const void *ctx, const ik_tool_result_t *result);

typedef struct {
    const char *name;      /* as the model wrote it */
    const char *arguments; /* JSON text */
    size_t arguments_len;
    const char *call_id;
    const char *session_id;
    int64_t agent; /* that calls: its number in the session */
    bool by_user;  /* the user's own command: with the user's environment, but for provider keys */
    ik_process_host_t *room; /* runs the call; NULL: that of the context, unconfined */
    const char *confined;    /* the room's limits, for the envelope of a failure; NULL: none */
    bool open_places;        /* the room does not protect the project's protected places */
    bool may_write;          /* the call may change files of the project */
    /* text is decoded and NUL-terminated. The callback may be NULL. */
    void (*on_progress)(void *data, const char *text, size_t len);
    /* The result belongs to the call, which is freed when the callback returns. */
    void (*on_end)(void *data, const ik_tool_result_t *result);
    void *data;
} ik_tool_request_t;

typedef struct ik_tool_call ik_tool_call_t;

struct ik_tool_runner {
    /* Starts the call; entry and context outlive it. on_end is called exactly once, from the loop,
     * never before this returns. The caller frees the returned object, in on_end or later; freeing
     * it earlier stops the tool, and on_end is not called. */
    void *(*start)(const void *ctx, const ik_tool_context_t *context,
                   const ik_tool_registry_entry_t *entry, const ik_tool_request_t *request);
    /* Stops the tool; on_end is called later, from the loop, with the result INTERRUPTED. */
    void (*cancel)(void *call);
};

/* Finds the tool and lets its runner start the call. An unknown name, or arguments that are not a
 * JSON object, give a failure without running anything. registry may be NULL (no tools) and must
 * live until on_end, which is called exactly once, from the loop, never before this returns.
 * Freeing the call stops the tool, and on_end is not called. */
ik_tool_call_t *ik_tool_call_start(const void *ctx, const ik_tool_context_t *context,
                                   const ik_tool_registry_t *registry,
                                   const ik_tool_request_t *request);
void ik_tool_call_cancel(ik_tool_call_t *call);

/* Blocks: runs the loop until the call ends, and returns the result on ctx. Of the callbacks of
 * request only on_progress is called. */
ik_tool_result_t *ik_tool_call_run(const void *ctx, const ik_tool_context_t *context,
                                   const ik_tool_registry_t *registry,
                                   const ik_tool_request_t *request);

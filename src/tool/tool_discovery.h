/*
 * Finds the tools of the three folders and asks each for its schema: asynchronously, in parallel,
 * each with its own clock, so that no tool can hold up another. What a tool does wrong costs one
 * line in problems and nothing else. Files remembered by the cache are not started at all, unless
 * the caller wants the user's tools asked again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/config.h"
#include "base/paths.h"
#include "io/process.h"
#include "tool/tool_registry.h"
#include "trust/trust.h"

typedef enum {
    TOOL_SCAN_NOT_STARTED,
    TOOL_SCAN_IN_PROGRESS,
    TOOL_SCAN_COMPLETE,
    TOOL_SCAN_FAILED,
} tool_scan_state_t;

typedef struct {
    const ik_paths_t *paths;
    const ik_config_t *config;
    ik_process_host_t *host;
    bool refresh; /* ask everyone again, whatever the cache says */
    /* Ask the user's tools again, although the cache knows them: what a wrapper says may come from
     * a file that the cache does not watch. One that does not answer keeps its last answer. */
    bool ask_user_again;
    bool trust_project; /* trust the project's tools for this run */
    /* Nothing is executed: a tool that the cache does not know is called as its file is. */
    bool ask_nobody;
} ik_tool_discovery_options_t;

typedef struct {
    ik_tool_registry_t *registry;
    char **problems; /* lines such as "Debug: tool 'foo' schema failed (timeout)" */
    size_t problem_count;
    /* Names of tools that answered otherwise than the cache knew, "a, b"; NULL: none did. */
    char *changed;
    /* For who asks what there is (/refresh, tool list): files that look like tools and are
     * not used, and tools that hide others by their name. */
    char **unused;
    size_t unused_count;
    char **hiding;
    size_t hiding_count;
    res_t limit; /* OK, or that processes cannot be started at all: a limit is too low */
    /* The project's tools: trusted and present, or why not. */
    ik_trust_status_t *trust;
    size_t started;    /* processes that were needed */
    size_t remembered; /* user's tools whose schema came from the cache */
    bool none;         /* there is no tool at all, not even a disabled one */
} ik_tool_discovery_result_t;

typedef struct ik_tool_discovery ik_tool_discovery_t;

/* on_done comes from the loop, later, exactly once; the result is owned by the discovery, which the
 * caller frees when it has taken over the registry (talloc_steal). Freeing it earlier ends
 * everything. */
ik_tool_discovery_t *ik_tool_discovery_start(const void *ctx,
                                             const ik_tool_discovery_options_t *options,
                                             void (*on_done)(void *data), void *data);
bool ik_tool_discovery_is_complete(const ik_tool_discovery_t *discovery);
/* NULL before it is complete. */
const ik_tool_discovery_result_t *ik_tool_discovery_result(const ik_tool_discovery_t *discovery);

/* The blocking form: runs the loop until all have answered. The result is allocated on ctx. */
res_t ik_tool_discovery_run(const void *ctx, const ik_tool_discovery_options_t *options,
                            const ik_tool_discovery_result_t **out);

/* For a result without any tool. */
extern const char ik_tool_discovery_none[];

/* The one line for a project whose tools are not used because they are not trusted: how many, which
 * names they would override, how to review. NULL when there is nothing to say. */
char *ik_tool_discovery_trust_line(const void *ctx, const ik_tool_discovery_result_t *result);

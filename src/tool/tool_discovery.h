/*
 * Finds the tools in the three tool folders and runs each with --schema: asynchronously, in
 * parallel, each with its own timeout, so that no tool delays another. A tool that fails is left
 * out and adds one line to problems. A tool whose schema is cached is not run, unless the options
 * say so.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/config.h"
#include "base/paths.h"
#include "confinement/confinement.h"
#include "io/process.h"
#include "tool/tool_registry.h"
#include "trust/trust.h"

typedef enum {
    TOOL_SCAN_NOT_STARTED,
    TOOL_SCAN_IN_PROGRESS,
    TOOL_SCAN_COMPLETE,
    TOOL_SCAN_FAILED,
} tool_scan_state_t;

/* Where a supplier puts tools and what is to be said about them. */
typedef struct {
    ik_tool_registry_t *registry;
    void (*problem)(void *data, const char *line);
    void *data;
} ik_tool_supply_t;

/* Supplies tools that are not executables: those of MCP servers. */
typedef struct {
    /* Finds out what there is; refresh: asks again for everything that is known. on_done is called
     * once, from the loop; freeing the result cancels it. NULL: there is nothing to wait for, and
     * on_done is not called. */
    void *(*start)(const void *ctx, void *supplier, bool refresh, void (*on_done)(void *data),
                   void *data);
    /* Adds the tools under names that the registry does not have yet. */
    void (*supply)(void *supplier, const ik_tool_supply_t *supply);
    /* One line about what is not used because it is not trusted, on ctx; NULL: nothing. */
    char *(*describe_trust)(const void *ctx, void *supplier);
    void *supplier; /* an argument of all */
} ik_tool_supplier_t;

typedef struct {
    const ik_paths_t *paths;
    const ik_config_t *config;
    ik_process_host_t *host;
    const ik_tool_supplier_t *servers; /* NULL: none */
    /* Runs the project's tools where they can only read; NULL: unconfined. */
    ik_confinement_t *confinement;
    bool refresh; /* ignore the cache and ask all tools */
    /* Ask the user's tools even if they are cached: the schema that a wrapper prints may come from
     * a file that the cache does not watch. A tool that does not answer keeps its cached schema. */
    bool ask_user_again;
    bool trust_project; /* trust the project's tools for this run, with all that they declare */
    bool only_project;  /* leave out the tools of the system and the user */
    /* Execute nothing: a tool that is not cached gets its name from its file and no parameters. */
    bool cache_only;
} ik_tool_discovery_options_t;

typedef struct {
    ik_tool_registry_t *registry;
    char **problems; /* lines such as "Debug: tool 'foo' schema failed (timeout)" */
    size_t problem_count;
    /* Names of tools whose answer differs from the cached schema, "a, b"; NULL: none. */
    char *changed;
    /* For /refresh and `ikigai tool list`: files that look like tools but are not used, and tools
     * that hide another tool of the same name. */
    char **unused;
    size_t unused_count;
    char **hiding;
    size_t hiding_count;
    res_t limit;              /* an error when a resource limit is too low to start any process */
    ik_trust_status_t *trust; /* of the project's tools */
    size_t started;           /* number of tools that were run */
    size_t remembered;        /* number of user tools whose schema came from the cache */
    bool none;                /* there is no tool at all, not even a disabled one */
    char *servers_line;       /* about servers that are not trusted; NULL: there are none */
} ik_tool_discovery_result_t;

typedef struct ik_tool_discovery ik_tool_discovery_t;

/* on_done is called exactly once, from the loop, never before this returns. The discovery owns the
 * result; the caller steals the registry (talloc_steal) and frees the discovery. Freeing it earlier
 * stops the tools that are running, and on_done is not called. */
ik_tool_discovery_t *ik_tool_discovery_start(const void *ctx,
                                             const ik_tool_discovery_options_t *options,
                                             void (*on_done)(void *data), void *data);
/* NULL until the discovery is complete. */
const ik_tool_discovery_result_t *ik_tool_discovery_result(const ik_tool_discovery_t *discovery);

/* Blocks: runs the loop until the discovery is complete. The result belongs to ctx. */
res_t ik_tool_discovery_run(const void *ctx, const ik_tool_discovery_options_t *options,
                            const ik_tool_discovery_result_t **out);

/* The message for a result without any tool. */
extern const char ik_tool_discovery_none[];

/* One line about project tools that are not used because they are not trusted: how many there are,
 * which tools they would override and how to review them. NULL when there is nothing to report. */
char *ik_tool_discovery_trust_line(const void *ctx, const ik_tool_discovery_result_t *result);

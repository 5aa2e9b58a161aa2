/*
 * The tools a model can call, sorted by name. Built once by discovery and immutable afterwards: a
 * refresh builds a new registry, and the old one goes when its last user is done.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/config.h"
#include "tool/tool_schema.h"

/* Later ones win by name. */
typedef enum {
    IK_TOOL_SYSTEM,
    IK_TOOL_USER,
    IK_TOOL_PROJECT,
} ik_tool_source_t;

typedef struct ik_tool_runner ik_tool_runner_t; /* tool_runner.h */

typedef struct {
    const char *name;
    const ik_tool_runner_t *runner; /* how its calls are run */
    const char *path;               /* what is executed; for a project's tool, the trusted copy */
    const char *origin;             /* where the author put it */
    ik_tool_source_t source;
    bool cached;           /* its schema came from the cache */
    const char *overrides; /* origin of the tool it hides, or NULL */
    const ik_tool_schema_t *schema;
} ik_tool_registry_entry_t;

typedef struct {
    ik_tool_registry_entry_t **entries;
    size_t count;
} ik_tool_registry_t;

ik_tool_registry_t *ik_tool_registry_create(const void *ctx);

/* Takes the schema over. A tool of a later source replaces one of the same name; within one source
 * the first stays and IK_ERR_CONFLICT names it. */
res_t ik_tool_registry_add(ik_tool_registry_t *registry, const char *path, const char *origin,
                           ik_tool_source_t source, bool cached, ik_tool_schema_t *schema);

/* Takes out what the configuration disables. */
void ik_tool_registry_remove_disabled(ik_tool_registry_t *registry, const ik_config_t *config);

/* NULL when there is none of that name. */
const ik_tool_registry_entry_t *ik_tool_registry_lookup(const ik_tool_registry_t *registry,
                                                        const char *name);

/* All tools as [{name, description, parameters}, …], byte-stable for the same tools. New
 * reference. */
json_t *ik_tool_registry_build_all(const ik_tool_registry_t *registry);

/* "New: a, b. Gone: c. Changed: d."; NULL when both hold the same tools with the same schemas.
 * before may be NULL: then there was nothing. */
char *ik_tool_registry_describe_changes(const void *ctx, const ik_tool_registry_t *before,
                                        const ik_tool_registry_t *after);

/* "system", "user", "project" */
const char *ik_tool_source_name(ik_tool_source_t source);

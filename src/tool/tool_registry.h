/*
 * The tools a model can call, sorted by name. Discovery builds a registry once; it does not change
 * afterwards. A refresh builds a new one, and the old one is freed with its last user.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/config.h"
#include "tool/tool_schema.h"

/* A tool overrides those of earlier sources that have the same name. */
typedef enum {
    IK_TOOL_SYSTEM,
    IK_TOOL_USER,
    IK_TOOL_PROJECT,
    IK_TOOL_SERVER, /* of an MCP server; never overrides */
} ik_tool_source_t;

typedef struct ik_tool_runner ik_tool_runner_t; /* tool_runner.h */

typedef struct {
    const char *name;
    const ik_tool_runner_t *runner; /* runs its calls */
    /* What is executed; for a project's tool, the trusted copy; NULL for a tool of a server. */
    const char *path;
    const char *origin; /* where the author put it; NULL as path */
    const char *server; /* the name of its server; NULL: none */
    const char *tool;   /* what the server calls it */
    void *peer;         /* the server, for the runner; outlives the registry */
    ik_tool_source_t source;
    bool cached;           /* its schema came from the cache */
    const char *overrides; /* origin of the tool it hides, or NULL */
    /* The user agreed to what a project's tool declares beyond writing in the project. */
    bool more_granted;
    bool host_granted; /* and to what it asks ikigai for */
    const ik_tool_schema_t *schema;
} ik_tool_registry_entry_t;

typedef struct {
    ik_tool_registry_entry_t **entries;
    size_t count;
} ik_tool_registry_t;

ik_tool_registry_t *ik_tool_registry_create(const void *ctx);

/* Takes ownership of schema, except on an error. A tool replaces one of an earlier source that has
 * the same name. Within one source the first stays, and IK_ERR_CONFLICT names it. */
res_t ik_tool_registry_add(ik_tool_registry_t *registry, const char *path, const char *origin,
                           ik_tool_source_t source, bool cached, ik_tool_schema_t *schema);

/* Adds a tool of a server under schema->name, which must be free. Takes ownership of schema. */
void ik_tool_registry_add_server(ik_tool_registry_t *registry, const ik_tool_runner_t *runner,
                                 void *peer, const char *server, const char *tool, bool cached,
                                 ik_tool_schema_t *schema);

/* Adds a tool that ikigai itself runs, likewise. */
void ik_tool_registry_add_built_in(ik_tool_registry_t *registry, const ik_tool_runner_t *runner,
                                   void *peer, ik_tool_schema_t *schema);

/* Removes the tools that the configuration disables. */
void ik_tool_registry_remove_disabled(ik_tool_registry_t *registry, const ik_config_t *config);

/* A registry of those tools that names lists, which is NULL-terminated. Its entries belong to
 * registry. */
ik_tool_registry_t *ik_tool_registry_select(const void *ctx, const ik_tool_registry_t *registry,
                                            const char *const *names);

/* NULL when there is no tool of that name. */
const ik_tool_registry_entry_t *ik_tool_registry_lookup(const ik_tool_registry_t *registry,
                                                        const char *name);

/* Looks up a name that the user typed, which may be that of the file: file-read is file_read. */
const ik_tool_registry_entry_t *ik_tool_registry_find_typed(const ik_tool_registry_t *registry,
                                                            const char *name);

/* "New: a, b. Gone: c. Changed: d."; NULL when nothing differs. before may be NULL: no tools. */
char *ik_tool_registry_describe_changes(const void *ctx, const ik_tool_registry_t *before,
                                        const ik_tool_registry_t *after);

/* Whether the tool declares more than writing in the project: a project's tool has it only if the
 * user agreed. */
bool ik_tool_registry_declares_more(const ik_tool_registry_entry_t *entry);
/* What the calls of a tool are held to. false: the tool declared nothing and runs unconfined, as it
 * came from the system or the user. */
bool ik_tool_registry_effects(const ik_tool_registry_entry_t *entry, ik_effects_t *effects);

/* What the calls of a tool may use of the host channel (ik_host_op_t): what it declares, for a
 * project's tool if the user agreed. */
unsigned ik_tool_registry_host(const ik_tool_registry_entry_t *entry);

/* "system", "user", "project", "server" */
const char *ik_tool_source_name(ik_tool_source_t source);

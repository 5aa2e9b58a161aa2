/*
 * The MCP servers of `mcpServers`, in the user's and system's configuration and in a project's
 * .mcp.json. Texts are kept as written; `${VAR}` is expanded when a server is used.
 */
#pragma once

#include "base/config_loader.h"

/* Reads one entry. A later one of the same name replaces an earlier one as a whole. */
void ik_config_server_read(ik_config_loader_t *loader, const char *name, ik_json_span_t name_span,
                           ik_json_span_t entry);
/* Reads the text of a project's .mcp.json: its servers on ctx, and warnings about everything else.
 * An entry with a fault is left out. text[len] must be NUL. */
ik_config_servers_t *ik_config_server_parse_project(const void *ctx, const char *path,
                                                    const char *text, size_t len);
/* Adds a server, which lives as long, or replaces the one of that name. */
void ik_config_server_add(ik_config_servers_t *servers, ik_config_server_t *server);
/* [A-Za-z0-9_-]{1,64} */
bool ik_config_server_is_name(const char *name);
/* Expands ${VAR} and ${VAR:-default}; NULL when a variable without a default is not set, and
 * *missing is its name then, on ctx. In a project's file a variable that holds a provider's key
 * counts as not set. */
char *ik_config_server_expand(const void *ctx, const ik_config_t *config, bool of_project,
                              const char *text, char **missing);

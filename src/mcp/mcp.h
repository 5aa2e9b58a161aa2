/*
 * The MCP servers of this ikigai: those of the user's and system's configuration, and those of the
 * project's .mcp.json once the user trusts it. They supply tools to the registry. Until a server is
 * needed, nothing of it is started or contacted.
 */
#pragma once

#include "mcp/mcp_server.h"
#include "tool/tool_discovery.h"
#include "trust/trust.h"

typedef struct ik_mcp ik_mcp_t;

/* One configured server. */
typedef struct {
    const ik_config_server_t *config;
    ik_mcp_server_t *server; /* NULL: disabled or not trusted */
    bool untrusted;
} ik_mcp_item_t;

/* options are copied. trust_project: for this run. Does no I/O. */
ik_mcp_t *ik_mcp_create(const void *ctx, const ik_mcp_options_t *options, bool trust_project);
/* Supplies the tools to discovery; lives as long as mcp. */
const ik_tool_supplier_t *ik_mcp_supplier(ik_mcp_t *mcp);
/* Asks the servers to exit and runs the loop until they have, for at most patience_ms. */
void ik_mcp_close(ik_mcp_t *mcp, int64_t patience_ms);

/* Reads .mcp.json again, if it has changed. */
void ik_mcp_load(ik_mcp_t *mcp);
size_t ik_mcp_count(const ik_mcp_t *mcp);
const ik_mcp_item_t *ik_mcp_item(const ik_mcp_t *mcp, size_t index);
/* NULL: there is none of that name. */
const ik_mcp_item_t *ik_mcp_find(const ik_mcp_t *mcp, const char *name);
/* Whether a server has to be asked for its tools again; see ik_mcp_server_is_stale. */
bool ik_mcp_is_stale(const ik_mcp_t *mcp);
/* Lines about the project's file: its faults, and servers hidden by the user's of that name. */
size_t ik_mcp_lines(const ik_mcp_t *mcp, const char *const **lines);
/* One line about servers that are not trusted, on ctx; NULL: all are. */
char *ik_mcp_trust_line(const void *ctx, const ik_mcp_t *mcp);

/* The envelope, on ctx, for a call of an unknown tool whose server did not list its tools; NULL: no
 * such server has a tool of that name. */
char *ik_mcp_refuse_unknown(const void *ctx, const ik_mcp_t *mcp, const char *tool);

/* The paragraph of the system prompt in which servers describe the use of their tools, on ctx;
 * NULL: none does. tools: the only ones that are used, NULL-terminated; NULL: all. It depends only
 * on the configuration and on what is remembered of the servers. */
char *ik_mcp_format_instructions(const void *ctx, ik_mcp_t *mcp, const char *const *tools);

/* The path of the project's file, on ctx. */
char *ik_mcp_project_file(const void *ctx, const ik_paths_t *paths);
/* Lists the servers of the file with their command lines or URLs, for the user to review; on ctx.
 */
char *ik_mcp_format_review(const void *ctx, const char *file);
/* "npx -y server DIR", or its URL without a password, as one line on ctx, in which nothing else
 * stays hidden: the user decides about it. Variables are not expanded. */
char *ik_mcp_describe_target(const void *ctx, const ik_config_server_t *config);

/*
 * The tools of a server as ikigai offers them: names that every provider accepts, schemas, and
 * which of them are used. Pure: no I/O.
 */
#pragma once

#include <jansson.h>

#include "base/config.h"

/* Of one server; the rest is left out. What is kept of them fits into the cache. */
enum {
    IK_MCP_TOOLS_MAX = 2000,
    IK_MCP_TOOLS_BYTES = 8 * 1024 * 1024,       /* of all schemas */
    IK_MCP_TOOL_SCHEMA_BYTES = 1 * 1024 * 1024, /* of one */
};

/* Names and schemas as they are kept between runs. */
typedef struct {
    char *tool;   /* as the server calls it */
    char *schema; /* JSON text for ik_tool_schema_parse */
} ik_mcp_tool_t;

typedef struct {
    ik_mcp_tool_t *list; /* sorted by tool */
    size_t count;
    size_t bytes;  /* of all schemas */
    char *problem; /* tools that were left out, and why; NULL: none */
} ik_mcp_tools_t;

/* server__tool with characters outside [A-Za-z0-9_] as _, at most 64, not beginning with a digit,
 * on ctx. */
char *ik_mcp_tool_name(const void *ctx, const char *server, const char *tool);
/* A second name for a tool whose first one is taken; it is the same in every run. */
char *ik_mcp_tool_rename(const void *ctx, const char *name, const char *server, const char *tool);

/* Whether the lists of the configuration let the tool be used. */
bool ik_mcp_tool_is_enabled(const ik_config_server_t *server, const char *tool);

ik_mcp_tools_t *ik_mcp_tools_create(const void *ctx);
/* Adds a tool of the result of tools/list; leaves out what is not a tool. */
void ik_mcp_tools_add(ik_mcp_tools_t *tools, const char *server, json_t *tool);
/* Leaves out tools whose x-mcp-header, which only HTTP in the modern era knows, cannot be followed.
 */
void ik_mcp_tools_drop_bad_headers(ik_mcp_tools_t *tools);
/* Sorts them; of tools with the same name the first one stays. */
void ik_mcp_tools_sort(ik_mcp_tools_t *tools);
bool ik_mcp_tools_equal(const ik_mcp_tools_t *a, const ik_mcp_tools_t *b);
/* [{"tool", "schema"}] for the cache, a new reference, and back. */
json_t *ik_mcp_tools_to_json(const ik_mcp_tools_t *tools);
ik_mcp_tools_t *ik_mcp_tools_from_json(const void *ctx, json_t *list);

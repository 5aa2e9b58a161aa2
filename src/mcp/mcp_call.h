/*
 * Runs calls of tools that servers provide: the runner of their registry entries. However a server
 * behaves, a call ends within its limits, and the result is an envelope.
 */
#pragma once

#include "mcp/mcp_server.h"
#include "tool/tool_runner.h"

#define IK_MCP_ERROR "MCP_ERROR"
#define IK_MCP_SERVER_UNAVAILABLE "SERVER_UNAVAILABLE"
#define IK_MCP_AUTH_REQUIRED "AUTH_REQUIRED"

/* The peer of an entry is its ik_mcp_server_t. */
extern const ik_tool_runner_t ik_mcp_call;

/* The error of a call whose server needs a login, on ctx. scope: what the login has to cover; NULL:
 * not known. */
char *ik_mcp_call_describe_login(const void *ctx, const char *server, const char *scope);

/*
 * The headers that repeat parts of a message over HTTP in the modern era: its method, the tool that
 * it calls, and arguments that the tool's schema marks with x-mcp-header. Pure: no I/O.
 */
#pragma once

#include "mcp/mcp_tool.h"

/* The headers of the message, "Name: value", NULL-terminated, on ctx. tools may be NULL. */
const char *const *ik_mcp_headers_create(const void *ctx, const ik_mcp_tools_t *tools,
                                         const char *message, size_t len);

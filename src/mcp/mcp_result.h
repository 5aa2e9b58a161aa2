/*
 * Turns the result of tools/call into the result of a tool: its content as one text, with images
 * and structured content beside it. Pure: no I/O.
 */
#pragma once

#include "base/json.h"

#define IK_MCP_TOOL_ERROR "MCP_TOOL_ERROR"

/* The result as JSON text on ctx, for the envelope; NULL: it is not a valid result, and *reason
 * says why. */
char *ik_mcp_result_format(const void *ctx, ik_json_span_t result, const char **reason);

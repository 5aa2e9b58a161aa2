/* What the MCP server sends, as JSON text: the list of tools, the results of calls, questions. */
#pragma once

#include <stdbool.h>

#include "permission/permission_gate.h"
#include "tool/tool_runner.h"

/* The names of the inputs that a call can lack. */
#define IK_MCP_SERVE_PERMISSION "permission"
#define IK_MCP_SERVE_ANSWER "answer" /* to a question of its tool */

/* Ends a result that begins as text: the modern era adds members. On ctx. */
char *ik_mcp_serve_format_result(const void *ctx, const char *text, bool modern);

/* {"tools":[…]}, sorted by name. */
char *ik_mcp_serve_format_tools(const void *ctx, const ik_tool_registry_t *registry, bool modern);

/* The result of tools/call for an envelope: the tool's own answer, without the envelope, whose
 * other members are in _meta. The bytes of images are read from the folder of blobs. */
char *ik_mcp_serve_format_call(const void *ctx, const ik_tool_result_t *result, const char *blobs,
                               bool modern);

/* The parameters of elicitation/create: a form without fields, and one with the field answer. */
char *ik_mcp_serve_format_question(const void *ctx, const ik_permission_question_t *question);
char *ik_mcp_serve_format_ask(const void *ctx, const ik_host_question_t *question);
/* The result of a modern tools/call that lacks an input: the answer to a question. */
char *ik_mcp_serve_format_input_required(const void *ctx, const char *input, const char *question,
                                         const char *state);

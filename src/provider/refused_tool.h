/*
 * Finds out which tool of a request a server refuses, from the index or the name in its message:
 *
 *   OpenAI     param tools[3].function.parameters, "Invalid schema for function 'x': …"
 *   Anthropic  "tools.3.custom.input_schema: …"
 *   Gemini     "…tools[0].function_declarations[2].parameters…"
 *   vLLM       "{'type': 'missing', 'loc': ('body', 'tools', 3, 'function'), …}"
 *   SGLang     "Tool 3 function has invalid 'parameters' schema: …"
 */
#pragma once

#include "provider/error_body.h"
#include "provider/request.h"

/* The index of the tool in the request; -1: the body names none. */
int ik_refused_tool_find_index(const ik_error_body_t *body);
/* The tool whose definition the message complains about by name; NULL: none. */
const ik_request_tool_t *ik_refused_tool_find_name(const ik_request_t *request,
                                                   const char *message);

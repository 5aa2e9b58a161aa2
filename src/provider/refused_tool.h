/*
 * Which tool of a request a server refuses to take, told from the place or the name in its
 * complaint:
 *
 *   OpenAI     param tools[3].function.parameters, "Invalid schema for function 'x': …"
 *   Anthropic  "tools.3.custom.input_schema: …"
 *   Gemini     "…tools[0].function_declarations[2].parameters…"
 */
#pragma once

#include "provider/error_body.h"
#include "provider/request.h"

/* The place of the tool in the request, from 0; -1: none is named. */
int ik_refused_tool_find_index(const ik_error_body_t *body);
/* The tool whose definition the message is about, by the name in it; NULL: none. */
const ik_request_tool_t *ik_refused_tool_find_name(const ik_request_t *request,
                                                   const char *message);

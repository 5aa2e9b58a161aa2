/* The definition of one tool as OpenAI's two APIs have it. */
#pragma once

#include "provider/request.h"

typedef enum {
    IK_OPENAI_TOOL_OMIT,  /* only OpenAI is told whether the schema is strict */
    IK_OPENAI_TOOL_STATE, /* everyone is: the default is not to be relied on */
} ik_openai_tool_strict_t;

/* Appends name, description, parameters and, for whom it is meant, strict; without braces. */
void ik_openai_tool_append(ik_buffer_t *out, const ik_request_t *request,
                           const ik_request_tool_t *tool, ik_openai_tool_strict_t strict);

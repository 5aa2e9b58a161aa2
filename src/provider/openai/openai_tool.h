/* The definition of one tool as OpenAI's two APIs have it. */
#pragma once

#include "provider/request.h"

typedef enum {
    IK_OPENAI_TOOL_OMIT,  /* strict is left out where the schema is not strict on purpose */
    IK_OPENAI_TOOL_STATE, /* strict always stands there: its default is not to be relied on */
} ik_openai_tool_strict_t;

/* Appends name, description, parameters and, for whom it is meant, strict; without braces. */
void ik_openai_tool_append(ik_buffer_t *out, const ik_request_t *request,
                           const ik_request_tool_t *tool, ik_openai_tool_strict_t strict);

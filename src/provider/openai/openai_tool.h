/* The definitions of tools as OpenAI's two APIs have them. */
#pragma once

#include "provider/request.h"

typedef enum {
    IK_OPENAI_TOOL_OMIT,  /* only OpenAI is told whether the schema is strict */
    IK_OPENAI_TOOL_STATE, /* everyone is: the default is not to be relied on */
} ik_openai_tool_strict_t;

/* Appends the list of the request's tools: of each, between before and after, its name,
 * description, parameters and, for whom it is meant, strict. */
void ik_openai_tool_append_all(ik_buffer_t *out, const ik_request_t *request, const char *before,
                               const char *after, ik_openai_tool_strict_t strict);

/* ik_provider_t.restore_arguments of both APIs: OpenAI's strict schemas make optional parameters
 * nullable, and the nulls that come back for them are removed. */
bool ik_openai_tool_restore_arguments(ik_buffer_t *out, const ik_target_t *target,
                                      json_t *parameters, ik_json_span_t arguments);

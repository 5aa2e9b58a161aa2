/* Tool definitions for both of OpenAI's APIs. */
#pragma once

#include "provider/request.h"

typedef enum {
    IK_OPENAI_TOOL_OMIT,  /* "strict" is sent only to OpenAI */
    IK_OPENAI_TOOL_STATE, /* "strict" is sent to every server: their defaults differ */
} ik_openai_tool_strict_t;

/* Appends the list of the request's tools: for each, between before and after, its name,
 * description, parameters and, depending on the server, strict. */
void ik_openai_tool_append_all(ik_buffer_t *out, const ik_request_t *request, const char *before,
                               const char *after, ik_openai_tool_strict_t strict);

/* Implements ik_provider_t.restore_arguments for both APIs: in strict schemas optional parameters
 * are nullable, and this removes the nulls that come back for them. */
bool ik_openai_tool_restore_arguments(ik_buffer_t *out, const ik_target_t *target,
                                      json_t *parameters, ik_json_span_t arguments);

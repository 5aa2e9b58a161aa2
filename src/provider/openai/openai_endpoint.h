/*
 * The parts that Chat Completions and Responses share: URL, headers, common fields, and which of
 * the many compatible servers a target is.
 */
#pragma once

#include "provider/request.h"

/* Whether the provider is named openai, whatever its base URL. Fields that only OpenAI accepts are
 * sent to no other provider. */
bool ik_openai_endpoint_is_openai(const ik_target_t *target);
/* These two servers refuse fields that others accept, or require some that others do not. They are
 * recognised by their host or, behind a proxy, by the provider's name. */
bool ik_openai_endpoint_is_mistral(const ik_target_t *target);
bool ik_openai_endpoint_is_deepseek(const ik_target_t *target);

/* path follows the base URL and begins with a slash. */
char *ik_openai_endpoint_url(const void *ctx, const ik_request_t *request, const char *path);
char **ik_openai_endpoint_headers(const void *ctx, const ik_request_t *request);
/* Appends the fields that both of OpenAI's APIs take, each after a comma: store, prompt_cache_key
 * and parallel_tool_calls. */
void ik_openai_endpoint_append_fields(ik_buffer_t *out, const ik_request_t *request);

/*
 * What Chat Completions and Responses have in common: where a request goes and with which key, and
 * which of the many servers that speak them it is.
 */
#pragma once

#include "provider/request.h"

/* The provider that is named openai, whatever its base URL: what only OpenAI takes is sent there
 * and to nobody else. */
bool ik_openai_endpoint_is_openai(const ik_target_t *target);
/* These two refuse what everyone else takes, or miss what nobody else needs. They are known by
 * their host; where a proxy stands between, by the provider's name. */
bool ik_openai_endpoint_is_mistral(const ik_target_t *target);
bool ik_openai_endpoint_is_deepseek(const ik_target_t *target);

/* path is what follows the base URL, with its slash. */
char *ik_openai_endpoint_url(const void *ctx, const ik_request_t *request, const char *path);
char **ik_openai_endpoint_headers(const void *ctx, const ik_request_t *request);
/* Members of a request that both APIs of OpenAI take, each after a comma: nothing is stored, caches
 * are found again, calls may come several at a time. */
void ik_openai_endpoint_append_fields(ik_buffer_t *out, const ik_request_t *request);

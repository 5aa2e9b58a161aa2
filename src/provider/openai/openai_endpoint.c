#include "provider/openai/openai_endpoint.h"

#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/url_host.h"

static bool is_named(const ik_target_t *target, const char *name)
{
    return strcmp(target->config->name, name) == 0;
}

bool ik_openai_endpoint_is_openai(const ik_target_t *target)
{
    return is_named(target, "openai");
}

/* Whether the base URL's host is this one or a subdomain of it. */
static bool has_host(const ik_target_t *target, const char *host)
{
    size_t wanted = strlen(host);
    if (target->config->base_url == NULL) {
        return false;
    }
    ik_url_host_t found = ik_url_host_find(target->config->base_url);
    return found.len >= wanted && strncasecmp(found.text + found.len - wanted, host, wanted) == 0 &&
           (found.len == wanted || found.text[found.len - wanted - 1] == '.');
}

bool ik_openai_endpoint_is_mistral(const ik_target_t *target)
{
    return has_host(target, "api.mistral.ai") || is_named(target, "mistral");
}

bool ik_openai_endpoint_is_deepseek(const ik_target_t *target)
{
    return has_host(target, "deepseek.com") || is_named(target, "deepseek");
}

char *ik_openai_endpoint_url(const void *ctx, const ik_request_t *request, const char *path)
{
    return ik_url_host_append(ctx, request->target->config->base_url, path);
}

char **ik_openai_endpoint_headers(const void *ctx, const ik_request_t *request)
{
    enum { MOST = 4 };
    const char *key = request->target->config->api_key;
    char **headers = ik_new_array(ctx, char *, MOST);
    size_t count = 0;
    headers[count++] = ik_strdup(headers, "Content-Type: application/json");
    headers[count++] = ik_strdup(headers, "Accept: text/event-stream");
    if (key != NULL) {
        headers[count++] = ik_sprintf(headers, "Authorization: Bearer %s", key);
    }
    return headers; /* ik_new_array zeroes the memory, so NULL ends the list */
}

void ik_openai_endpoint_append_fields(ik_buffer_t *out, const ik_request_t *request)
{
    if (ik_request_may_send(request, IK_FIELD_STORE)) {
        ik_buffer_append_text(out, ",\"store\":false");
    }
    if (request->cache_key != NULL && ik_request_may_send(request, IK_FIELD_CACHE_KEY)) {
        ik_buffer_append_text(out, ",\"prompt_cache_key\":");
        ik_json_append_text(out, request->cache_key);
    }
    if (request->tool_count > 0 && ik_request_may_send(request, IK_FIELD_PARALLEL_TOOL_CALLS)) {
        ik_buffer_append_text(out, ",\"parallel_tool_calls\":true");
    }
}

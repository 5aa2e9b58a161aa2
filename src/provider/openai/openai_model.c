#include "provider/openai/openai_model.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "provider/openai/openai_endpoint.h"

/* The version of gpt-5.6-luna is 506; 0 when it is no such name. */
static int version_of(const char *model)
{
    static const char prefix[] = "gpt-";
    if (strncmp(model, prefix, sizeof(prefix) - 1) != 0 ||
        !isdigit((unsigned char)model[sizeof(prefix) - 1])) {
        return 0;
    }
    char *end;
    long major = strtol(model + sizeof(prefix) - 1, &end, 10);
    long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    return major < 0 || major > 99 || minor < 0 || minor > 99 ? 0 : (int)(major * 100 + minor);
}

/* The models behind the chat products (gpt-5-chat-latest) do not reason. */
static bool is_name_of_reasoner(const char *model)
{
    bool o_series = model[0] == 'o' && isdigit((unsigned char)model[1]);
    return (o_series || version_of(model) >= 500) && strstr(model, "-chat") == NULL;
}

bool ik_openai_model_reasons(const ik_target_t *target)
{
    if (target->facts->thinking == IK_MODEL_THINKING_UNKNOWN) {
        return is_name_of_reasoner(target->model);
    }
    return target->facts->thinking == IK_MODEL_THINKING_EFFORT;
}

/* Effort none does not exist here, so that tools do not work over Chat Completions at all. */
static bool always_reasons(const char *model)
{
    return version_of(model) > 600 || strstr(model, "astra") != NULL;
}

static const char *openai_effort(const ik_request_t *request)
{
    const char *model = request->target->model;
    if (!ik_openai_model_reasons(request->target)) {
        return NULL;
    }
    if (request->tool_count == 0 || version_of(model) < 504) {
        return request->effort;
    }
    return version_of(model) >= 506 && !always_reasons(model) ? "none" : NULL;
}

const char *ik_openai_model_chat_effort(const ik_request_t *request)
{
    if (!ik_request_may_send(request, IK_FIELD_EFFORT)) {
        return NULL;
    }
    if (ik_openai_endpoint_is_openai(request->target)) {
        return openai_effort(request);
    }
    return request->target->facts->thinking == IK_MODEL_THINKING_NONE ? NULL : request->effort;
}

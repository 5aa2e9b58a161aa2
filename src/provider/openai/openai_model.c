#include "provider/openai/openai_model.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "provider/openai/openai_endpoint.h"

/* The version as a number: 506 for gpt-5.6-luna; 0 when the name has another form. */
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

bool ik_openai_model_reasons(const ik_target_t *target)
{
    const char *model = target->model;
    if (target->facts->thinking != IK_MODEL_THINKING_UNKNOWN) {
        return target->facts->thinking == IK_MODEL_THINKING_EFFORT;
    }
    /* The models of the chat products (gpt-5-chat-latest) do not reason. */
    bool o_series = model[0] == 'o' && isdigit((unsigned char)model[1]);
    return (o_series || version_of(model) >= 500) && strstr(model, "-chat") == NULL;
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
    /* These models have no effort "none", so tools do not work over Chat Completions at all. */
    bool always_reasons = version_of(model) > 600 || strstr(model, "astra") != NULL;
    return version_of(model) >= 506 && !always_reasons ? "none" : NULL;
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

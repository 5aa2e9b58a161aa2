#include "agent/agent_request.h"

#include "agent/agent_state.h"
#include "base/alloc.h"
#include "base/blob.h"
#include "base/image.h"

static void add_tools(ik_request_t *request, const ik_agent_t *agent,
                      const ik_tool_registry_t *registry)
{
    for (size_t i = 0; i < registry->count; i++) {
        const ik_tool_schema_t *schema = registry->entries[i]->schema;
        if (ik_shared_is_rejected(agent->shared, agent->target->name, registry->entries[i]->name)) {
            continue;
        }
        json_t *returns = agent->wire_registry == registry ? agent->returns[i] : NULL;
        ik_request_add_tool(request, registry->entries[i]->name, schema->description,
                            schema->parameters, returns);
    }
    ik_request_sort_tools(request);
}

static bool read_image(void *data, const void *ctx, const char *sha256, char **bytes, size_t *len)
{
    const ik_shared_ctx_t *shared = data;
    res_t read = shared->images == NULL
                     ? ERR(NOT_FOUND, "images are not stored")
                     : ik_blob_get(ctx, shared->images, sha256, IK_IMAGE_BYTES_MAX, bytes, len);
    return is_ok(&read);
}

void ik_request_set_messages(ik_request_t *request, const ik_context_t *context,
                             const ik_conversation_t *sent)
{
    const char *target = request->target->name;
    request->conversation = sent;
    request->trimmed_results = ik_context_trimmed_results(context);
    request->drop_reasoning = ik_conversation_dropped(sent, IK_MSG_DROP_REASONING, target);
    request->calls_as_text = ik_conversation_dropped(sent, IK_MSG_DROP_CALLS, target);
    request->images.dropped = context->at;
}

res_t ik_request_build_from_conversation(const void *ctx, ik_agent_t *agent,
                                         const ik_tool_registry_t *registry, ik_request_t **out)
{
    const ik_config_t *config = agent->shared->config;
    ik_request_t *request = ik_request_create(ctx, agent->target);
    request->system = ik_conversation_system(agent->conversation);
    if (agent->addition != NULL) {
        request->system = request->system == NULL
                              ? agent->addition
                              : ik_sprintf(request, "%s\n%s", request->system, agent->addition);
    }
    const ik_context_t *context = ik_agent_context(agent);
    request->images = (ik_request_images_t){
        .blind = ik_shared_is_blind(agent->shared, agent->target),
        .read = read_image,
        .data = agent->shared,
    };
    request->images.refused_count =
        ik_conversation_refused_images(request, agent->conversation, &request->images.refused);
    ik_request_set_messages(request, context, context->sent);
    request->effort = config->effort;
    request->max_output_tokens =
        agent->max_output_tokens > 0 ? agent->max_output_tokens : config->max_output_tokens;
    request->cache_key = ik_session_id(agent->session);
    request->refused = agent->refused;
    request->results_shown = agent->shared->results_shown;
    if (registry != NULL) {
        add_tools(request, agent, registry);
    }
    *out = request;
    return OK;
}

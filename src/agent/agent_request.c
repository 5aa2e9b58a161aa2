#include "agent/agent_request.h"

#include "agent/agent_state.h"
#include "base/alloc.h"

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

res_t ik_request_build_from_conversation(const void *ctx, const ik_agent_t *agent,
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
    request->conversation = agent->conversation;
    request->trimmed_results = ik_conversation_trimmed_results(agent->conversation);
    request->drop_reasoning =
        ik_conversation_dropped(agent->conversation, IK_MSG_DROP_REASONING, agent->target->name);
    request->calls_as_text =
        ik_conversation_dropped(agent->conversation, IK_MSG_DROP_CALLS, agent->target->name);
    request->effort = config->effort;
    request->max_output_tokens = config->max_output_tokens;
    request->cache_key = ik_session_id(agent->session);
    request->refused = agent->refused;
    request->results_shown = agent->shared->results_shown;
    if (registry != NULL) {
        add_tools(request, agent, registry);
    }
    *out = request;
    return OK;
}

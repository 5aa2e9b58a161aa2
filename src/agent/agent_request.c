#include "agent/agent_request.h"

#include <string.h>

#include "agent/agent_state.h"
#include "base/alloc.h"
#include "base/blob.h"
#include "base/hash.h"
#include "base/image.h"
#include "base/json.h"
#include "tool/tool_search.h"

/* Adds the names of the tools that an answer of tool_search has. */
static void add_found(ik_id_set_t *found, const char *envelope, size_t len, size_t *room)
{
    ik_json_span_t whole;
    ik_json_span_t result;
    ik_json_span_t tools;
    ik_json_span_t tool;
    ik_json_span_t name;
    size_t at = 0;
    if (!ik_json_scan(envelope, len, &whole, NULL) ||
        !ik_json_find_kind(whole, "result", IK_JSON_OBJECT, &result) ||
        !ik_json_find_kind(result, "tools", IK_JSON_ARRAY, &tools)) {
        return;
    }
    while (*room > 0 && ik_json_next_element(tools, &at, &tool)) {
        if (ik_json_find_kind(tool, "name", IK_JSON_STRING, &name)) {
            char *text = ik_json_decode(found, name, NULL);
            *room -= !ik_id_set_has(found, text);
            ik_id_set_add(found, text);
            talloc_free(text);
        }
    }
}

/* The tools of servers that the model has found, as far as there is room for them; those that were
 * found last come first. */
static ik_id_set_t *collect_found(const void *ctx, ik_agent_t *agent, size_t room)
{
    const ik_conversation_t *sent = ik_agent_context(agent)->sent;
    ik_id_set_t *found = ik_id_set_create(ctx);
    for (size_t i = sent->count; i > 0 && room > 0; i--) {
        const ik_msg_t *message = sent->messages[i - 1];
        ik_json_span_t output;
        size_t len;
        if (!ik_msg_is(message, IK_MSG_TOOL_RESULT) || !ik_msg_field(message, "output", &output) ||
            memmem(output.text, output.len, "\\\"parameters\\\":", 15) == NULL) {
            continue;
        }
        char *envelope = ik_json_decode(found, output, &len);
        if (strncmp(envelope, ik_tool_search_opening, strlen(ik_tool_search_opening)) == 0) {
            add_found(found, envelope, len, &room);
        }
        talloc_free(envelope);
    }
    return found;
}

static void add_tools(ik_request_t *request, ik_agent_t *agent, const ik_tool_registry_t *registry)
{
    bool searches = ik_tool_search_applies(registry);
    size_t own = 0;
    for (size_t i = 0; i < registry->count; i++) {
        own += registry->entries[i]->source != IK_TOOL_SERVER;
    }
    size_t room = own < IK_TOOL_SEARCH_MOST ? IK_TOOL_SEARCH_MOST - own : 0;
    const ik_id_set_t *found = searches ? collect_found(request, agent, room) : NULL;
    if (searches) {
        char *catalogue = ik_tool_search_catalogue(request, registry);
        request->system = request->system == NULL
                              ? catalogue
                              : ik_sprintf(request, "%s\n%s", request->system, catalogue);
    }
    for (size_t i = 0; i < registry->count && request->tool_count < IK_TOOL_SEARCH_MOST; i++) {
        const ik_tool_schema_t *schema = registry->entries[i]->schema;
        bool of_server = registry->entries[i]->source == IK_TOOL_SERVER;
        if (of_server && searches && !ik_id_set_has(found, registry->entries[i]->name)) {
            continue;
        }
        if (of_server) {
            const char *name = registry->entries[i]->name;
            request->tool_key = request->tool_key * 31 + ik_hash_bytes(name, strlen(name));
        }
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

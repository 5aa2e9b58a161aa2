#include "agent/adaptation.h"

#include <string.h>

#include "agent/agent_state.h"
#include "base/alloc.h"
#include "provider/refused_image.h"
#include "provider/refused_tool.h"

enum {
    LEFT_OUT_MAX = 16,   /* tools per turn */
    IMAGE_DROPS_MAX = 3, /* per turn: then all images go */
};

static bool has_calls_from(const ik_conversation_t *conversation, size_t index)
{
    while (index < conversation->count &&
           !ik_msg_is(conversation->messages[index], IK_MSG_TOOL_CALL)) {
        index++;
    }
    return index < conversation->count;
}

/* Sends the conversation so far without its reasoning from now on or, if that was rejected as well,
 * its calls as text; false if neither is left to change. */
static bool drop_rejected(ik_agent_t *agent, const ik_request_t *request)
{
    ik_msg_drop_t drop = request->drop_reasoning < request->conversation->count
                             ? IK_MSG_DROP_REASONING
                             : IK_MSG_DROP_CALLS;
    if (drop == IK_MSG_DROP_CALLS &&
        (!agent->target->provider->can_send_calls_as_text ||
         !has_calls_from(request->conversation, request->calls_as_text))) {
        return false;
    }
    ik_msg_t *message = ik_msg_create_drop(NULL, drop, agent->target->name,
                                           ik_conversation_trimmed_results(agent->conversation));
    ik_agent_append(agent, message, IK_STORE_NORMAL);
    ik_agent_notice(agent, message->content);
    return true;
}

/* The tool that the error names; NULL: none. */
static const ik_request_tool_t *find_tool(const ik_request_t *request,
                                          const ik_provider_error_t *error)
{
    const ik_request_tool_t *tool = ik_refused_tool_find_name(request, error->message);
    if (tool == NULL && error->tool >= 0 && (size_t)error->tool < request->tool_count) {
        tool = &request->tools[error->tool];
    }
    return tool;
}

static char *format_tool(const ik_agent_t *agent, ik_request_t request, unsigned refused)
{
    ik_buffer_t out;
    request.refused |= refused;
    ik_buffer_init(&out, NULL, IK_BUFFER_UNLIMITED); /* bounded by the tool */
    agent->target->provider->format_tools(&out, &request);
    return ik_buffer_finish(&out);
}

/* Whether the tool that the error names is sent in the same form without the refused field: another
 * request without it would be refused, too. */
static bool is_without(const ik_agent_t *agent, const ik_request_t *request,
                       const ik_provider_error_t *error)
{
    const ik_request_tool_t *tool = find_tool(request, error);
    if (tool == NULL) {
        return false;
    }
    ik_request_t alone = *request;
    ik_request_tool_t copy = *tool;
    alone.tools = &copy;
    alone.tool_count = 1;
    char *before = format_tool(agent, alone, 0);
    char *after = format_tool(agent, alone, error->field);
    bool same = strcmp(before, after) == 0;
    talloc_free(before);
    talloc_free(after);
    return same;
}

/* Leaves the tool that the error names out of requests to this target, so that the other tools stay
 * usable; false if the error names none. */
static bool leave_tool_out(ik_adaptation_t *done, ik_agent_t *agent, const ik_request_t *request,
                           const ik_provider_error_t *error)
{
    const ik_request_tool_t *tool = find_tool(request, error);
    if (tool == NULL || ++done->tools_left_out > LEFT_OUT_MAX) {
        return false;
    }
    ik_shared_reject_tool(agent->shared, agent->target->name, tool->name);
    char *text = ik_sprintf(NULL, "Tool %s is left out: %s refuses its definition (%s)", tool->name,
                            agent->target->name, error->message);
    ik_agent_notice(agent, text);
    talloc_free(text);
    return true;
}

/* Sends markers in place of the images that the error names, or of all if that is not clear, from
 * now on; false if the request held none. After several refusals in one turn, all images go. */
static bool drop_images(ik_adaptation_t *done, ik_agent_t *agent, const ik_wire_t *wire,
                        const ik_provider_error_t *error)
{
    void *scratch = talloc_new(NULL);
    const ik_msg_image_t *images;
    bool placed = error->fault == IK_FAULT_IMAGE && ++done->image_drops <= IMAGE_DROPS_MAX;
    char *place = placed ? ik_sprintf(scratch, "%s %s", error->place, error->message) : "";
    size_t count = ik_refused_image_find(scratch, wire, place, &images);
    if (count > 0) {
        ik_msg_t *message =
            ik_msg_create_image_drop(NULL, images, count, agent->target->name,
                                     ik_conversation_trimmed_results(agent->conversation));
        ik_agent_append(agent, message, IK_STORE_NORMAL);
        ik_agent_notice(agent, ik_sprintf(scratch, "%s (%s)", message->content, error->message));
    }
    talloc_free(scratch);
    return count > 0;
}

/* Sends this target markers in place of all images, until the program ends. */
static bool reject_images(ik_agent_t *agent, const ik_wire_t *wire,
                          const ik_provider_error_t *error)
{
    void *scratch = talloc_new(NULL);
    const ik_msg_image_t *images;
    bool sent = !ik_shared_is_blind(agent->shared, agent->target) &&
                ik_refused_image_find(scratch, wire, "", &images) > 0;
    if (sent) {
        ik_shared_reject_images(agent->shared, agent->target->name);
        ik_agent_notice(
            agent, ik_sprintf(scratch, "%s accepts no images; markers are sent in their place (%s)",
                              agent->target->name, error->message));
    }
    talloc_free(scratch);
    return sent;
}

bool ik_adaptation_apply(ik_adaptation_t *done, ik_agent_t *agent, const ik_request_t *request,
                         const ik_wire_t *wire, const ik_provider_error_t *error)
{
    switch (error->fault) {
    case IK_FAULT_FIELD:
        if ((agent->refused & error->field) == error->field ||
            (error->field == IK_FIELD_STRICT && is_without(agent, request, error))) {
            return leave_tool_out(done, agent, request, error);
        }
        agent->refused |= error->field;
        return true;
    case IK_FAULT_TOOL:
    case IK_FAULT_INVALID:
        return leave_tool_out(done, agent, request, error);
    case IK_FAULT_REASONING:
        return drop_rejected(agent, request);
    case IK_FAULT_IMAGE:
    case IK_FAULT_TOO_LARGE:
        return drop_images(done, agent, wire, error);
    case IK_FAULT_IMAGES:
        return reject_images(agent, wire, error);
    default:
        return false;
    }
}

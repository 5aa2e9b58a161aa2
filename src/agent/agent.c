#include "agent/agent.h"

#include <string.h>

#include "agent/agent_state.h"
#include "agent/turn.h"
#include "base/alloc.h"

static const char *const reason_names[] = {
    [IK_TURN_END] = "end_turn",
    [IK_TURN_LIMIT] = "limit",
    [IK_TURN_ERROR] = "error",
    [IK_TURN_INTERRUPTED] = "interrupted",
};

const char *ik_turn_reason_name(ik_turn_reason_t reason)
{
    return reason_names[reason];
}

void ik_agent_emit(ik_agent_t *agent, const ik_agent_event_t *event)
{
    agent->on_event(agent->data, event);
}

/* --- the conversation -------------------------------------------------------------------- */

/* A message joins the conversation in memory. */
static void remember(ik_agent_t *agent, ik_msg_t *message)
{
    if (ik_msg_is(message, IK_MSG_TOOL_CALL)) {
        char *id = ik_msg_field_text(NULL, message, "id");
        ik_id_set_add(agent->call_ids, id);
        talloc_free(id);
    }
    ik_conversation_append(agent->conversation, message);
}

/* A store that fails costs one line, never the turn. */
static void report_store(ik_agent_t *agent, const res_t *stored)
{
    if (is_err(stored) && !agent->store_failed) {
        agent->store_failed = true;
        char *text = ik_sprintf(NULL, "This conversation is not being saved: %s", stored->message);
        ik_agent_emit(
            agent, &(ik_agent_event_t){.kind = IK_AGENT_NOTICE, .text = text, .len = strlen(text)});
        talloc_free(text);
    }
}

const ik_msg_t *ik_agent_append(ik_agent_t *agent, ik_msg_t *message, ik_store_safety_t safety)
{
    res_t stored = ik_store_append(agent->shared->store, agent->session_id, message, safety);
    report_store(agent, &stored);
    remember(agent, message);
    ik_agent_emit(agent, &(ik_agent_event_t){.kind = IK_AGENT_MESSAGE, .message = message});
    return message;
}

static bool is_refused(const ik_msg_t *message)
{
    ik_json_span_t refused;
    return ik_msg_is(message, IK_MSG_ASSISTANT) && ik_msg_field(message, "refused", &refused);
}

/* The turn before was refused, and the provider wants it left out of what follows. It stays in the
 * store, where a repair leaves it out as well. */
static void drop_refused_turn(ik_agent_t *agent)
{
    ik_conversation_t *conversation = agent->conversation;
    if (conversation->count > 0 && is_refused(conversation->messages[conversation->count - 1])) {
        agent->conversation = ik_conversation_repair(agent, conversation);
        agent->drop_reasoning = 0;
        TALLOC_FREE(agent->wire); /* it knows the old one */
        talloc_free(conversation);
    }
}

/* --- making ------------------------------------------------------------------------------ */

static ik_agent_t *create(const void *ctx, const ik_agent_options_t *options)
{
    ik_agent_t *agent = ik_new(ctx, ik_agent_t);
    agent->shared = options->shared;
    agent->target = options->target;
    agent->session_id = ik_strdup(agent, options->session_id);
    agent->without_tools = options->without_tools;
    agent->on_event = options->on_event;
    agent->data = options->data;
    agent->conversation = ik_conversation_create(agent);
    agent->call_ids = ik_id_set_create(agent);
    return agent;
}

ik_agent_t *ik_agent_create(const void *ctx, const ik_agent_options_t *options)
{
    ik_agent_t *agent = create(ctx, options);
    if (options->system_prompt != NULL) {
        ik_agent_append(agent, ik_msg_create(NULL, IK_MSG_SYSTEM, options->system_prompt, NULL),
                        IK_STORE_NORMAL);
    }
    return agent;
}

ik_agent_t *ik_agent_resume(const void *ctx, const ik_agent_options_t *options,
                            const ik_conversation_t *stored)
{
    ik_agent_t *agent = create(ctx, options);
    ik_conversation_t *repaired = ik_conversation_repair(NULL, stored);
    for (size_t i = 0; i < repaired->count; i++) {
        remember(agent, repaired->messages[i]);
    }
    talloc_free(repaired);
    return agent;
}

void ik_agent_start_turn(ik_agent_t *agent, const char *text)
{
    drop_refused_turn(agent);
    ik_agent_append(agent, ik_msg_create(NULL, IK_MSG_USER, text, NULL), IK_STORE_FULL);
    agent->turn = ik_turn_start(agent);
}

bool ik_agent_is_busy(const ik_agent_t *agent)
{
    return agent->turn != NULL;
}

void ik_agent_interrupt(ik_agent_t *agent)
{
    if (agent->turn != NULL) {
        ik_turn_interrupt(agent->turn);
    }
}

void ik_agent_set_target(ik_agent_t *agent, const ik_target_t *target)
{
    agent->target = target;
    agent->refused = 0;
    agent->drop_reasoning = 0;
    agent->tokens_per_byte = 0;
    TALLOC_FREE(agent->wire);
}

const ik_conversation_t *ik_agent_conversation(const ik_agent_t *agent)
{
    return agent->conversation;
}

/* The state of an agent, private to this folder. */
#pragma once

#include "agent/agent.h"
#include "agent/id_set.h"
#include "conversation/context.h"

typedef struct ik_turn ik_turn_t;

struct ik_agent {
    ik_shared_ctx_t *shared;
    const ik_target_t *target;
    const ik_target_t *next_target; /* from the next request on; NULL: no change */
    ik_session_t *session;
    int64_t number; /* its number in the session */
    bool without_tools;
    long max_output_tokens; /* 0: as configured */
    ik_agent_listener_fn on_event;
    ik_agent_steering_fn steering;
    void *data;

    const char *addition;            /* to the system prompt; NULL: none */
    ik_msg_t *system;                /* not yet in the conversation; NULL: none, or it is */
    ik_conversation_t *conversation; /* between turns every call has its result */
    ik_context_t *context;           /* what of it is sent; NULL: not made yet */
    ik_id_set_t *call_ids;
    ik_turn_t *turn; /* NULL: no turn is running */
    bool store_failed;
    ik_id_set_t *told_problems; /* with instructions in folders; NULL: none */

    ik_wire_t *wire;                         /* formats requests; NULL: not created yet */
    const ik_tool_registry_t *wire_registry; /* the registry that wire and returns describe */
    ik_tool_registry_t *selected;            /* the tools that it is limited to; NULL: none yet */
    const ik_tool_registry_t *selected_from;
    json_t **returns;       /* schema of the envelope of each tool in wire_registry */
    unsigned refused;       /* request fields that the target rejected */
    double tokens_per_byte; /* from the usage of the last request; 0: unknown */
};

void ik_agent_emit(ik_agent_t *agent, const ik_agent_event_t *event);
/* Reports one line for the user. */
void ik_agent_notice(ik_agent_t *agent, const char *text);
/* Stores the messages, adds them to the conversation and reports them, in this order. Takes
 * ownership. They are stored in one transaction: a step is logged as a whole or not at all. */
void ik_agent_append_all(ik_agent_t *agent, ik_msg_t *const *messages, size_t count,
                         ik_store_safety_t safety);
void ik_agent_append(ik_agent_t *agent, ik_msg_t *message, ik_store_safety_t safety);
/* Logs the state of the files around calls; see message.h. */
void ik_agent_record_checkpoint(ik_agent_t *agent, ik_msg_phase_t phase, const char *const *states,
                                size_t count);
/* What of the conversation is sent, up to date. */
const ik_context_t *ik_agent_context(ik_agent_t *agent);
/* Switches to next_target, if there is one. Only while no request is running. */
bool ik_agent_use_next_target(ik_agent_t *agent);

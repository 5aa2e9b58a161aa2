/* What an agent consists of, for the files of this folder. */
#pragma once

#include "agent/agent.h"
#include "agent/id_set.h"

typedef struct ik_turn ik_turn_t;

struct ik_agent {
    ik_shared_ctx_t *shared;
    const ik_target_t *target;
    ik_session_t *session;
    int64_t number; /* in the session */
    bool without_tools;
    ik_agent_listener_fn on_event;
    void *data;

    ik_msg_t *system;                /* waits for the first turn; NULL: none, or it is said */
    ik_conversation_t *conversation; /* always one that can be sent, but for the turn under way */
    ik_id_set_t *call_ids;
    ik_turn_t *turn; /* NULL: no turn under way */
    bool store_failed;

    /* for requests */
    ik_wire_t *wire;                         /* NULL: to be made */
    const ik_tool_registry_t *wire_registry; /* whose tools are in wire */
    json_t **returns;                        /* of those tools: schema of the envelope */
    unsigned refused;                        /* fields this target does not take */
    double tokens_per_byte; /* learnt from what the last request was said to be; 0: nothing yet */
};

void ik_agent_emit(ik_agent_t *agent, const ik_agent_event_t *event);
/* Store first, then memory, then the listener. Takes the messages over; they are stored in one
 * transaction, so that a step is in the log as a whole or not at all. */
void ik_agent_append_all(ik_agent_t *agent, ik_msg_t *const *messages, size_t count,
                         ik_store_safety_t safety);
void ik_agent_append(ik_agent_t *agent, ik_msg_t *message, ik_store_safety_t safety);

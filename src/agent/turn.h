/*
 * The state machine of one turn: ask the model, run the tool calls in its answer, and ask again,
 * until an answer has no calls. docs/architecture.md has the diagram.
 */
#pragma once

#include "agent/agent.h"

typedef struct ik_turn ik_turn_t;

/* The user's message must be in the conversation already. The turn clears agent->turn and frees
 * itself before it emits TURN_ENDED, so that the listener may start the next turn. */
ik_turn_t *ik_turn_start(ik_agent_t *agent);
void ik_turn_interrupt(ik_turn_t *turn);

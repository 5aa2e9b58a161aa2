/*
 * The state machine of one turn: ask the model, run the calls it makes, ask again, until it makes
 * none. See docs/architecture.md for the drawing.
 */
#pragma once

#include "agent/agent.h"

typedef struct ik_turn ik_turn_t;

/* The user's message is already in the conversation. The turn clears agent->turn and frees itself
 * before it emits TURN_ENDED, so that the listener may start the next one. */
ik_turn_t *ik_turn_start(ik_agent_t *agent);
void ik_turn_interrupt(ik_turn_t *turn);

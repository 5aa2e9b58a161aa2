/*
 * The state machine of one turn: ask the model, run the tool calls in its answer, and ask again,
 * until an answer has no calls. docs/architecture.md has the diagram.
 */
#pragma once

#include "agent/agent.h"

typedef struct ik_turn ik_turn_t;

/* The user's message must be in the conversation already. Sets agent->turn, which the turn clears
 * before it frees itself and emits TURN_ENDED, so that the listener may start the next turn. */
void ik_turn_start(ik_agent_t *agent);
void ik_turn_interrupt(ik_turn_t *turn);
/* Ends the wait for the next attempt, if the turn waits for one: another model was chosen. */
void ik_turn_stop_waiting(ik_turn_t *turn);
/* The number of messages before the step whose calls are running; all, when none are. */
size_t ik_turn_complete_messages(const ik_turn_t *turn);
/* See ik_agent_silent_ms. */
int64_t ik_turn_silent_ms(const ik_turn_t *turn);

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
/* Starts a turn that only compacts the conversation (ik_agent_compact). False when there is nothing
 * to compact; true without a turn when that was done at once. */
bool ik_turn_start_compaction(ik_agent_t *agent, const char *focus);
void ik_turn_interrupt(ik_turn_t *turn);
bool ik_turn_is_interrupted(const ik_turn_t *turn);
/* Ends the wait for the next attempt, if the turn waits for one: another model was chosen. */
void ik_turn_stop_waiting(ik_turn_t *turn);
/* While calls are running: the number of messages before their step, and the seq of the last event
 * before it. Changes nothing otherwise. */
void ik_turn_find_complete(const ik_turn_t *turn, size_t *messages, int64_t *seq);
/* See ik_agent_silent_ms. */
int64_t ik_turn_silent_ms(const ik_turn_t *turn);

/*
 * Adapts an agent to what a provider refused, so that the request can be sent again: without a
 * field, a tool, old reasoning or images. What is learnt holds for later requests as well, and the
 * user gets a notice of everything that changes what the model sees.
 */
#pragma once

#include "agent/agent.h"
#include "provider/provider_error.h"
#include "provider/wire.h"

/* Counts for one turn, so that a provider that refuses everything ends it. Starts with zeros. */
typedef struct {
    int tools_left_out;
    int image_drops;
} ik_adaptation_t;

/* Changes what the provider objected to in the request, which was made with the wire; false if the
 * next one would be the same. */
bool ik_adaptation_apply(ik_adaptation_t *done, ik_agent_t *agent, const ik_request_t *request,
                         const ik_wire_t *wire, const ik_provider_error_t *error);

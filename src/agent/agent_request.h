/* Builds a provider-independent request from an agent's conversation and its tools. */
#pragma once

#include "agent/agent.h"

/* registry may be NULL: no tools. The request, on ctx, borrows from agent and registry. */
res_t ik_request_build_from_conversation(const void *ctx, const ik_agent_t *agent,
                                         const ik_tool_registry_t *registry, ik_request_t **out);

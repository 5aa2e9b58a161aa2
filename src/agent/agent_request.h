/* From an agent's conversation and the tools at hand to a request, in one place for all providers.
 */
#pragma once

#include "agent/agent.h"

/* registry may be NULL: no tools. The request, on ctx, borrows from agent and registry. */
res_t ik_request_build_from_conversation(const void *ctx, const ik_agent_t *agent,
                                         const ik_tool_registry_t *registry, ik_request_t **out);

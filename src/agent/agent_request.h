/* Builds a provider-independent request from an agent's conversation and its tools. */
#pragma once

#include "agent/agent.h"
#include "conversation/context.h"

/* registry may be NULL: no tools. The request, on ctx, borrows from agent and registry. */
res_t ik_request_build_from_conversation(const void *ctx, ik_agent_t *agent,
                                         const ik_tool_registry_t *registry, ik_request_t **out);
/* Makes it a request with the messages in sent, which are borrowed: those of the context, or fewer,
 * or more at their end. */
void ik_request_set_messages(ik_request_t *request, const ik_context_t *context,
                             const ik_conversation_t *sent);

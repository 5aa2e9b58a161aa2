/*
 * A question of a server to the user (elicitation): a form of flat fields, asked one after the
 * other in the order of the schema, or a URL to visit. The answer is a result as the protocol wants
 * it: {"action": "accept", "content": {…}}, or "decline" or "cancel".
 */
#pragma once

#include "mcp/mcp_server.h"

/* params of elicitation/create. on_done gets the result as JSON text; it is called once, from the
 * loop or before this returns, and then NULL is returned. Freeing the object cancels it. */
typedef void (*ik_mcp_elicited_fn)(void *data, const char *result);
void *ik_mcp_elicit(const void *ctx, const ik_mcp_options_t *options, const char *server,
                    ik_json_span_t params, ik_mcp_elicited_fn on_done, void *data);
/* Why the params are not a question that can be asked; NULL: they are. */
const char *ik_mcp_elicitation_fault(ik_json_span_t params);

/* For shipped tools that pass their call on to ikigai over the host channel. */
#pragma once

#include "tools/common/tool_program.h"

/* Sends a request with these parameters of the call (NULL-terminated; those not given are left
 * out) and answers the call with its result, or with the host's error and error_code. Progress of
 * the request becomes progress of the call. */
void ik_host_relay_run(ik_tool_call_t *call, const char *op, const char *const *params);
/* As ik_host_relay_run, for any request; takes over the reference. */
void ik_host_relay_send(ik_tool_call_t *call, json_t *request);

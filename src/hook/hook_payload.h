/* The JSON object that a hook reads, with the names of ikigai and those of Claude Code. */
#pragma once

#include "hook/hooks.h"

/* One line, with a newline at its end, on ctx. input takes the place of occasion->input. */
char *ik_hook_payload_format(const void *ctx, const ik_hook_occasion_t *occasion,
                             const ik_hook_agent_t *agent, const char *folder, const char *input,
                             size_t *len);

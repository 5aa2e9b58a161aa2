/* Which model is talked to when a program begins, and what to tell somebody who configured none. */
#pragma once

#include "base/config.h"
#include "provider/provider.h"

/* Whoever says so for this run (a flag, the environment) chooses; otherwise a session keeps its
 * model (kept: may be NULL or ""), otherwise the configuration and the keys at hand decide.
 * *notice, on ctx, is a line worth telling, or NULL. */
res_t ik_agent_target_choose(const void *ctx, const ik_config_t *config, const ik_models_t *models,
                             const char *kept, const ik_target_t **out, char **notice);

/* Nobody chose the offline model: it answers because nothing is configured. */
bool ik_agent_target_is_makeshift(const ik_config_t *config, const ik_target_t *target);
/* A line each, on ctx, for servers that seem to run on usual ports of this machine, with the way to
 * use them; "": none. */
char *ik_agent_target_describe_local_servers(const void *ctx);

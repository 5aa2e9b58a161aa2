/* Chooses the model at program start, and helps users who have configured none. */
#pragma once

#include "base/config.h"
#include "provider/provider.h"

/* Chooses, in this order: the model that a flag or the environment names, the session's last model
 * (kept; may be NULL or ""), the configured model, a default that depends on the available API
 * keys. *notice, on ctx, is a line for the user, or NULL. */
res_t ik_agent_target_choose(const void *ctx, const ik_config_t *config, const ik_models_t *models,
                             const char *kept, const ik_target_t **out, char **notice);

/* Whether the offline model answers only because no model is configured. */
bool ik_agent_target_is_makeshift(const ik_config_t *config, const ik_target_t *target);
/* The model in force with its source, "anthropic/claude-opus-5 (user)", on ctx; NULL: only the
 * offline model, because none is set up. */
char *ik_agent_target_describe(const void *ctx, const ik_config_t *config,
                               const ik_models_t *models);
/* How to use a key of a provider that has no default model, a sentence on ctx; NULL: there is none.
 * For users whose messages the offline model answers although they have a key. */
char *ik_agent_target_describe_unused_key(const void *ctx, const ik_config_t *config);
/* One line, on ctx, for each known local model server whose usual port accepts connections, with
 * the command to use it; "": none. */
char *ik_agent_target_describe_local_servers(const void *ctx);

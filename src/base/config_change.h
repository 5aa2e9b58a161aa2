/*
 * What the user changes while the program runs: each function writes one of the user's files
 * (json_file.h) and then changes the configuration in memory, so that both agree. Nothing changes
 * on an error. Call them only while no request is under way: requests borrow keys.
 */
#pragma once

#include "base/config.h"

/* Remembers the model for later starts: `model` in the user's configuration. In memory a model of
 * the project, the environment or the command line stays in force. */
res_t ik_config_change_model(ik_config_t *config, const ik_paths_t *paths, const char *model);
/* Adds or changes an OpenAI-compatible server: providers.NAME.base_url. *provider, which may be
 * NULL, is the result in memory. */
res_t ik_config_change_provider(ik_config_t *config, const ik_paths_t *paths, const char *name,
                                const char *base_url, const ik_config_provider_t **provider);
/* Stores the key of a provider in the key file; white space around it is dropped. A key in the
 * environment stays in force. */
res_t ik_config_change_key(ik_config_t *config, const ik_paths_t *paths, const char *provider,
                           const char *key);
/* The user does not want the key sent to the provider's address: this run goes on without it. */
void ik_config_change_withhold_key(ik_config_t *config, const char *provider);
/* Removes the key of a provider from the key file and from memory, wherever it came from. *removed:
 * the file had one. *variable is the environment variable that provides a key at the next start,
 * NULL: none does. */
res_t ik_config_change_forget_key(ik_config_t *config, const ik_paths_t *paths,
                                  const char *provider, bool *removed, const char **variable);

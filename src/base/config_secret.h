/*
 * The environment variables that tools do not get unless pass_env names them.
 *
 * Those with provider keys: a value is copied when its variable is first named, lives as long as
 * the configuration and is removed from our own environment.
 *
 * Those that are secret by their name, such as GITHUB_TOKEN. They stay in our own environment, for
 * the user's editor and for libpq; the keeper is started without them.
 */
#pragma once

#include "base/config.h"

/* A key as it can be sent in a header: without surrounding white space. "" when nothing is left,
 * NULL when it contains characters that no key can have. */
char *ik_config_secret_clean(const void *ctx, const char *key);
/* Overwrites a key and frees it; NULL is allowed. */
void ik_config_secret_destroy(const char *key);

/* Records the variable and its current value; does nothing when it is recorded already. */
void ik_config_secret_add(ik_config_t *config, const char *variable);
/* Records what another configuration has recorded. */
void ik_config_secret_copy(ik_config_t *config, const ik_config_t *other);
/* NULL when the variable was not set, is empty, or was never added. */
const char *ik_config_secret_value(const ik_config_t *config, const char *variable);
/* Overwrites the value that was recorded. */
void ik_config_secret_forget(ik_config_t *config, const char *variable);

/* Whether a variable of this name is secret: IKIGAI_DB, PGPASSWORD, and what matches *_API_KEY,
 * *_TOKEN, *_SECRET* or *_PASSWORD. */
bool ik_config_secret_is_held_back(const char *name, size_t len);
/* Our environment without what is secret by its name and without the host channel of a tool that
 * has started us, NULL-terminated, on ctx. */
char **ik_config_secret_environment(const void *ctx);
/* The value of a variable that tools do not get; NULL when it is not set, or not held back. */
const char *ik_config_secret_held_back(const ik_config_t *config, const char *variable);
/* The names of all variables that are set and that no general pass_env gives to tools, sorted,
 * NULL-terminated, on ctx. */
const char **ik_config_secret_list_held_back(const void *ctx, const ik_config_t *config);

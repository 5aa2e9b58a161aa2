/*
 * The environment variables that hold provider keys. A value is copied when its variable is first
 * named and lives as long as the configuration. Only requests to the provider and tools with
 * pass_env receive it.
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
/* NULL when the variable was not set, is empty, or was never added. */
const char *ik_config_secret_value(const ik_config_t *config, const char *variable);
/* Overwrites the value that was recorded. */
void ik_config_secret_forget(ik_config_t *config, const char *variable);

/*
 * Where a provider's key may be sent. It goes without a question to the provider's own host, to
 * this machine, to the address of a provider that the user's configuration defines itself, and to
 * an address from the environment if the key is from there, too. Any other address is asked about
 * once and then kept in `hosts` of IKIGAI_HOME/permissions.json.
 */
#pragma once

#include "base/config.h"

/* The origin that the user has to confirm before the provider's key may be sent there, on ctx;
 * NULL: none. */
char *ik_key_host_to_confirm(const void *ctx, const ik_paths_t *paths,
                             const ik_config_provider_t *provider);
/* Keeps the user's consent. */
res_t ik_key_host_confirm(const ik_paths_t *paths, const char *provider, const char *origin);

/*
 * The providers while the configuration is loaded: the built-in ones, those the files name and,
 * after the last layer, the values derived from them (API, key, whether it is configured).
 */
#pragma once

#include "base/config_loader.h"

bool ik_config_provider_is_name(const char *name);
/* As ik_config_provider, for those who change it. */
ik_config_provider_t *ik_config_provider_find(const ik_config_t *config, const char *name);
/* name must not exist yet. */
ik_config_provider_t *ik_config_provider_add(ik_config_t *config, const char *name);
/* The usual address of a provider that is known without configuration; NULL: it is not. */
const char *ik_config_provider_own_url(const char *name);
/* Sets configured from the other fields. */
void ik_config_provider_settle_use(ik_config_provider_t *provider);

void ik_config_provider_add_built_in(ik_config_t *config);
/* The provider of that name, created if new; at points to the name in the file. Reports an invalid
 * name or too many providers and returns NULL. */
ik_config_provider_t *ik_config_provider_open(ik_config_loader_t *loader, const char *name,
                                              const char *at);
/* Derives the remaining values; call after the last layer. */
void ik_config_provider_settle(ik_config_loader_t *loader);

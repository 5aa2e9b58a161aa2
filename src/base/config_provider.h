/*
 * The providers while the configuration is being loaded: the built-in ones, those the files name,
 * and, when all layers have spoken, what follows from the values (API, key, configured or not).
 */
#pragma once

#include "base/config_loader.h"

void ik_config_provider_add_built_in(ik_config_t *config);
/* The provider to set keys of, made when it is new; at is its name in the file. NULL with a
 * complaint when the name is not allowed or there are too many. */
ik_config_provider_t *ik_config_provider_open(ik_config_loader_t *loader, const char *name,
                                              const char *at);
/* After the last layer. */
void ik_config_provider_settle(ik_config_loader_t *loader);

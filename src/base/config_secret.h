/*
 * The environment variables that hold provider keys. Their values are copied when they are first
 * named and stay on the configuration until it is freed; config.h says who may see them.
 */
#pragma once

#include "base/config.h"

/* Remembers the variable and what it holds now; naming it twice is fine. */
void ik_config_secret_add(ik_config_t *config, const char *variable);
/* NULL when the variable was not set, is empty, or was never added. */
const char *ik_config_secret_value(const ik_config_t *config, const char *variable);

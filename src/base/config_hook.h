/* The entries of hooks.FILE while the configuration is loaded. */
#pragma once

#include "base/config_loader.h"

/* The hook of that file name, created if new; at points to the name in the file. Reports an invalid
 * name or too many hooks and returns NULL. */
ik_config_hook_t *ik_config_hook_open(ik_config_loader_t *loader, const char *name, const char *at);

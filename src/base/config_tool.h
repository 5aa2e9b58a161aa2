/* The entries of tools.NAME while the configuration is loaded. */
#pragma once

#include "base/config_loader.h"

/* The tool of that name, created if new; at points to the name in the file. Reports an invalid name
 * or too many tools and returns NULL. */
ik_config_tool_t *ik_config_tool_open(ik_config_loader_t *loader, const char *name, const char *at);

/* The entries of tools.NAME while the configuration is being loaded. */
#pragma once

#include "base/config_loader.h"

/* The tool to set keys of, made when it is new; at is its name in the file. NULL with a complaint
 * when no tool can have that name or there are too many. */
ik_config_tool_t *ik_config_tool_open(ik_config_loader_t *loader, const char *name, const char *at);

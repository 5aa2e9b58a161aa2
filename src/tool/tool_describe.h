/*
 * Describes tools: the text of /tool and /tool NAME and the JSON of `ikigai tool`, shared by the
 * command line and the terminal.
 */
#pragma once

#include <jansson.h>

#include "tool/tool_registry.h"

/* "Available tools:" and one line per tool, by name. User and project tools are marked. */
char *ik_tool_describe_list(const void *ctx, const ik_tool_registry_t *registry);
/* Name, parameters, the envelope of its result, effects, file and source. */
char *ik_tool_describe_entry(const void *ctx, const ik_tool_registry_entry_t *entry);
/* "write project, network no"; for NULL "not declared, runs unconfined". */
char *ik_tool_describe_effects(const void *ctx, const ik_effects_t *effects);
/* "ask, complete" for a set of ik_host_op_t; "nothing" for none. */
char *ik_tool_describe_host(const void *ctx, unsigned host);

/* New references. */
json_t *ik_tool_describe_list_json(const ik_tool_registry_t *registry);
json_t *ik_tool_describe_entry_json(const ik_tool_registry_entry_t *entry);
/* The names in a set of ik_host_op_t. */
json_t *ik_tool_describe_host_json(unsigned host);
/* A path as a JSON string, in which bytes that are not UTF-8 become U+FFFD; NULL becomes null. */
json_t *ik_tool_describe_path_json(const char *path);

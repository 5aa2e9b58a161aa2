/* What extends ikigai here, for `ikigai status`, /status and `ikigai doctor`: instructions, skills,
 * commands, hooks and agents, each with its path, whether it is used, and why not. */
#pragma once

#include <jansson.h>

#include "extend/extension.h"

/* {"instructions": [{name, path, source, description, used, reason}], "skills": …}; new
 * reference. */
json_t *ik_extension_status_create(const ik_extension_options_t *options);
/* The status as lines for people, on ctx. */
char *ik_extension_status_format(const void *ctx, const json_t *status);

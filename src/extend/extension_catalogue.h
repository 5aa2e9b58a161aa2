/* Skills or agents as the system prompt lists them, sorted, so that the same files always give the
 * same bytes. A skill has its path, which the model reads when a task calls for it; an agent is
 * started by its name. */
#pragma once

#include "extend/extension.h"

enum { IK_EXTENSION_CATALOGUE_MAX = 16 * 1024 };

/* On ctx; NULL: there is nothing to list. A last line says how many did not fit. */
char *ik_extension_catalogue_format(const void *ctx, const ik_extensions_t *found,
                                    ik_extension_kind_t kind);

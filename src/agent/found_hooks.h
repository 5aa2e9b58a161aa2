/* The hooks that the files of the user and the project are. */
#pragma once

#include "extend/extension.h"
#include "hook/hooks.h"

/* Sets the hooks that are found. Returns how many are not used because their project is not
 * trusted. warning: one line, on ctx, about files that cannot be used as hooks; NULL: none. */
size_t ik_found_hooks_set(const void *ctx, ik_hooks_t *hooks, const ik_extension_options_t *options,
                          char **warning);

/* The hooks that the files of the user and the project are. */
#pragma once

#include "extend/extension.h"
#include "hook/hooks.h"

/* Lets hooks run those that are used. Returns how many are not, because their project is not
 * trusted. */
size_t ik_found_hooks_set(ik_hooks_t *hooks, const ik_extension_options_t *options);

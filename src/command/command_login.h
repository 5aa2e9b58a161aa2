/* The providers as /login and /logout list them. */
#pragma once

#include "command/command.h"

/* Adds the providers that can have a key, with a note where it comes from; only_with_key: those
 * that have one. */
void ik_command_login_collect(ik_command_words_t *out, const ik_config_t *config,
                              bool only_with_key);
/* Opens a list of them and runs "/command PROVIDER" with the one that is chosen. */
void ik_command_login_choose(ik_command_host_t *host, const char *command, bool only_with_key);
/* The provider of that name; NULL after printing that there is none, with the names of all. */
const ik_config_provider_t *ik_command_login_find(ik_command_host_t *host, const char *name);

/* The models that can be chosen, for lists and completion. */
#pragma once

#include "command/command.h"

/* Adds the models of all providers that can be used. A provider without known models is listed as
 * its name and a slash. models may be NULL. */
void ik_command_model_collect(ik_command_words_t *out, const ik_config_t *config,
                              const ik_models_t *models);
/* Opens the list of models, and asks servers for theirs. */
void ik_command_model_list_open(ik_command_host_t *host);
/* Switches to the model, and prints that or why not. */
res_t ik_command_model_switch(ik_command_host_t *host, const char *name);

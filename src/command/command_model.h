/* The models that can be chosen, for lists and completion. */
#pragma once

#include "command/command.h"

/* Adds the models of all providers that can be used. A provider without known models is listed as
 * its name and a slash. models may be NULL. */
void ik_command_model_collect(ik_command_words_t *out, const ik_config_t *config,
                              const ik_models_t *models);

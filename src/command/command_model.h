/* The models that could be chosen, for whoever lists or completes them. */
#pragma once

#include "command/command.h"

/* What the providers that could be talked to have. A provider of which no model is known is its
 * name and a slash. models may be NULL. */
void ik_command_model_collect(ik_command_words_t *out, const ik_config_t *config,
                              const ik_models_t *models);

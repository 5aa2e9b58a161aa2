/* What OpenAI's models take, where the table of models does not tell: by their names. */
#pragma once

#include "provider/request.h"

/* Whether it is a model to which anything may be said about its reasoning. */
bool ik_openai_model_reasons(const ik_target_t *target);

/* The reasoning_effort to send over Chat Completions; NULL: leave it out. From GPT-5.4 on OpenAI
 * refuses tools there together with an effort, from GPT-5.6 on even with the default one. */
const char *ik_openai_model_chat_effort(const ik_request_t *request);

/* Which reasoning fields OpenAI's models accept. A model without data (models.h) is classified by
 * its name. */
#pragma once

#include "provider/request.h"

/* Whether the model reasons and so accepts fields about its reasoning. */
bool ik_openai_model_reasons(const ik_target_t *target);

/* The reasoning_effort to send over Chat Completions; NULL: leave it out. From GPT-5.4 on, OpenAI
 * refuses tools there together with an effort; from GPT-5.6 on, even with the default effort. */
const char *ik_openai_model_chat_effort(const ik_request_t *request);

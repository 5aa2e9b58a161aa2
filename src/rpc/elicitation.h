/* A question with one answer as a form: elicitation/create of the Model Context Protocol and of the
 * Agent Client Protocol. */
#pragma once

#include "base/json.h"

/* Appends the schema of a form with the field answer. choices is NULL-terminated; NULL: any text.
 * fallback is the default; NULL: none. */
void ik_elicitation_append_schema(ik_buffer_t *out, const char *const *choices,
                                  const char *fallback);
/* The answer that a result has, on ctx; NULL: the user did not answer. */
char *ik_elicitation_read_answer(const void *ctx, ik_json_span_t result);

/*
 * A JSON Schema in the words Gemini knows: a subset of OpenAPI's schema object, where any other key
 * makes the server refuse the whole request.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* New reference. *exact is false when the subset cannot say what the schema means; then the result
 * is the nearest it can say, with what was lost told in the descriptions. */
json_t *ik_google_schema_convert(json_t *schema, bool *exact);

/* Whether the server knows every keyword of a schema that is sent as JSON Schema. */
bool ik_google_schema_is_honoured(json_t *schema);

/* Whether there is anything to say: an object schema that allows no member needs no words. */
bool ik_google_schema_has_members(json_t *schema);

/*
 * Converts a JSON Schema to the schema object of Gemini, a subset of OpenAPI's. An unknown key
 * makes the server refuse the whole request.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* Returns a new reference. *exact is false when the subset cannot express the schema; the result is
 * then the closest one, and descriptions mention the lost keys. */
json_t *ik_google_schema_convert(json_t *schema, bool *exact);

/* Whether the server supports every keyword of the schema when it is sent as JSON Schema. */
bool ik_google_schema_is_honoured(json_t *schema);

/* Whether the schema describes any parameter; without one it is not sent at all. */
bool ik_google_schema_has_members(json_t *schema);

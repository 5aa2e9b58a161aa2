/*
 * OpenAI's strict mode: the model's arguments are then guaranteed to fit the schema, but only a
 * part of JSON Schema can be said, and every parameter is required. Optional ones become nullable,
 * and a null that comes back for one means that it was left out.
 */
#pragma once

#include "base/json.h"

/* The strict form of a tool's parameters, a new reference; NULL when strict mode cannot express
 * them. parameters stays as it is. */
json_t *ik_openai_schema_make_strict(json_t *parameters);

/* Appends the arguments without the members that are null for an optional parameter, at any depth.
 * False, with nothing appended, when there are none, or when these parameters have no strict form:
 * then a null is what the model meant. */
bool ik_openai_schema_remove_nulls(ik_buffer_t *out, json_t *parameters, ik_json_span_t arguments);

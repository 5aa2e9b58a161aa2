/*
 * OpenAI's strict mode guarantees that the model's arguments match the schema, but it supports only
 * a part of JSON Schema and requires every parameter. Optional parameters become nullable, and a
 * null that comes back for one means that it was left out.
 */
#pragma once

#include "base/json.h"

/* Returns the strict form of a tool's parameters, a new reference; NULL when strict mode cannot
 * express them. parameters is not changed. */
json_t *ik_openai_schema_make_strict(json_t *parameters);

/* Appends the arguments without the members, at any depth, that are null for an optional parameter.
 * False, with nothing appended, when there are none, or when the parameters have no strict form, so
 * that the model meant the null. */
bool ik_openai_schema_remove_nulls(ik_buffer_t *out, json_t *parameters, ik_json_span_t arguments);

/*
 * JSON that every server accepts. Valid JSON may still be refused: for bytes that are not UTF-8,
 * half a surrogate pair, duplicate names in an object, or deep nesting. Values passed in must have
 * been scanned (base/json.h).
 */
#pragma once

#include <stdbool.h>

#include "base/json.h"

/* Servers that limit nesting allow a hundred levels, and one level here can become three there. */
enum { IK_JSON_CLEAN_DEPTH = 32 };

bool ik_json_is_clean(ik_json_span_t value);

/* Appends the value, byte for byte when it is clean. Otherwise invalid characters become U+FFFD and
 * only the last of several members of one name is kept. Returns false and appends nothing when the
 * value is nested too deeply. */
bool ik_json_append_clean(ik_buffer_t *out, ik_json_span_t value);

/* Parses what another program wrote, as far as jansson can hold it: half a surrogate pair becomes
 * U+FFFD, and a number beyond its types the nearest that they hold. For schemas and descriptions,
 * not for values that have to stay exact. NULL where jansson refuses something else: a NUL in a
 * name, or too many levels. */
json_t *ik_json_parse_clean(ik_json_span_t value);

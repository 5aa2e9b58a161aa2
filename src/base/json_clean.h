/*
 * JSON as every server takes it. What is valid by itself may still be refused: bytes that are not
 * UTF-8, an escape that is half a surrogate pair, a name twice in one object, nesting without end.
 * Values here are scanned ones (base/json.h).
 */
#pragma once

#include <stdbool.h>

#include "base/json.h"

/* Servers that count levels allow a hundred, and a level of ours can be three of theirs. */
enum { IK_JSON_CLEAN_DEPTH = 32 };

bool ik_json_is_clean(ik_json_span_t value);

/* Appends the value, byte for byte when it is clean. Else characters that are none become U+FFFD,
 * and of the members of one name the last one stays. False, and nothing is appended, when it is
 * nested too deeply. */
bool ik_json_append_clean(ik_buffer_t *out, ik_json_span_t value);

/* Regular expressions in the JSON Schema of a tool. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Providers check patterns, each with its own engine. True when the pattern uses only syntax that
 * all of these engines understand alike. len tells whether text contains a NUL. */
bool ik_tool_schema_pattern_is_portable(const char *text, size_t len);

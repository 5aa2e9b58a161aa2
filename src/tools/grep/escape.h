/* Escapes lines of files for JSON, quickly: a long answer spends most of its time here. */
#pragma once

#include <stddef.h>

#include "base/buffer.h"

/* Appends bytes escaped for a JSON string, as ik_json_append_escaped does. Returns the length of
 * the unescaped text, in which invalid UTF-8 is replaced by U+FFFD. */
size_t ik_escape_append(ik_buffer_t *buffer, const char *bytes, size_t len);

/* Returns that length without appending. */
size_t ik_escape_measure(const char *bytes, size_t len);

/* The length of the longest prefix of escaped text that is at most max bytes unescaped and ends
 * between characters; *kept is its unescaped length. */
size_t ik_escape_cut(const char *escaped, size_t len, size_t max, size_t *kept);

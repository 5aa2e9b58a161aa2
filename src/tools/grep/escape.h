/* JSON text out of lines of files, fast: most of what a long answer costs is spent here. */
#pragma once

#include <stddef.h>

#include "base/buffer.h"

/* Appends bytes as the inside of a JSON string, as ik_json_append_escaped does, and returns the
 * length of the text they stand for (bytes that are not UTF-8 stand for U+FFFD). */
size_t ik_escape_append(ik_buffer_t *buffer, const char *bytes, size_t len);

/* That length alone. */
size_t ik_escape_measure(const char *bytes, size_t len);

/* How much of escaped text stands for at most max bytes and ends between characters; *kept is what
 * it stands for. */
size_t ik_escape_cut(const char *escaped, size_t len, size_t max, size_t *kept);

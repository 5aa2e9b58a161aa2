/*
 * Counting lines as fast as memory can be read: sixteen bytes at a time where the processor can
 * (SSE2), eight at a time in plain C elsewhere. Lines end with '\n'; nothing else is a line end.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

size_t ik_newline_count(const char *bytes, size_t len);

/* Steps over lines: returns the offset behind the *lines-th newline, or len when there are fewer.
 * *lines is reduced by the newlines passed, so it is 0 exactly when the place was found and the
 * call can be repeated with the next block. */
size_t ik_newline_skip(const char *bytes, size_t len, uint64_t *lines);

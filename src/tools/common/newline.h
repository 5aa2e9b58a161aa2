/*
 * Counts lines as fast as memory can be read: sixteen bytes at a time with SSE2, eight at a time in
 * plain C elsewhere. Only '\n' ends a line.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

size_t ik_newline_count(const char *bytes, size_t len);

/* Skips *lines lines: returns the offset after the *lines-th newline, or len if there are fewer.
 * Subtracts the newlines it passed from *lines; if the result is not 0, call it again with the next
 * block. */
size_t ik_newline_skip(const char *bytes, size_t len, uint64_t *lines);

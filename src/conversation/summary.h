/* Tool calls and results in a line, for people: glob(pattern="*.c", path="src/") and 3 files found.
 * Never longer than IK_SUMMARY_MAX bytes or so; the full text is in data_json. */
#pragma once

#include <stddef.h>

enum { IK_SUMMARY_VALUE_MAX = 120, IK_SUMMARY_MAX = 1000 };

char *ik_summary_of_call(const void *ctx, const char *name, const char *arguments, size_t len);
char *ik_summary_of_result(const void *ctx, const char *name, const char *envelope);

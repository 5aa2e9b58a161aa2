/* One-line summaries of tool calls and results, for people: glob(pattern="*.c", path="src/") and "3
 * files found". They have about IK_SUMMARY_MAX bytes at most; data_json has the full text. */
#pragma once

#include <stddef.h>

enum { IK_SUMMARY_VALUE_MAX = 120, IK_SUMMARY_MAX = 1000 };

char *ik_summary_of_call(const void *ctx, const char *name, const char *arguments, size_t len);
char *ik_summary_of_result(const void *ctx, const char *name, const char *envelope);

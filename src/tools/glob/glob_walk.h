/*
 * Expands a glob pattern over the file system. Without a ** component the result is that of POSIX
 * glob(). A ** component matches zero or more folders; in a pattern with one, no component matches
 * "." or "..", so that the walk stays below its start.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "tools/common/warning_list.h"

/* Appends the matching paths to out, separated by newlines, sorted by bytes and without duplicates,
 * and returns their number. prefix is literal, "" or ending in a slash; the pattern is matched
 * below it. What cannot be read is skipped with a warning; *unreadable: nothing could be read. */
size_t ik_glob_walk_run(const char *prefix, const char *pattern, ik_buffer_t *out,
                        ik_warning_list_t *warnings, bool *unreadable);

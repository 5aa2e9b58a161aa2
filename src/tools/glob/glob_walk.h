/*
 * Expands a glob pattern over the file system. Without a ** component the result is what POSIX
 * glob() gives. With one, ** stands for zero or more folders, and "." and ".." are found by no
 * component, so that the walk stays below where it begins.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "tools/common/warning_list.h"

/* Paths beginning with prefix (taken literally, "" or ending in a slash) that match the pattern
 * below it, sorted by their bytes, without duplicates, joined by newlines in out. Returns how many.
 * Neither string holds NUL bytes. What cannot be read is passed over with a warning; *unreadable
 * says that nothing at all could be. */
size_t ik_glob_walk_run(const char *prefix, const char *pattern, ik_buffer_t *out,
                        ik_warning_list_t *warnings, bool *unreadable);

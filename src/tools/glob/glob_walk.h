/*
 * Expands a glob pattern over the file system. Without a ** component the result is what POSIX
 * glob() gives; a component ** stands for zero or more folders. Folders that cannot be read are
 * passed over.
 */
#pragma once

#include <stddef.h>

#include "base/buffer.h"

/* Paths beginning with prefix (taken literally, "" or ending in a slash) that match the pattern
 * below it, sorted by their bytes, without duplicates, joined by newlines in out. Returns how many.
 * Neither string holds NUL bytes. */
size_t ik_glob_walk_run(const char *prefix, const char *pattern, ik_buffer_t *out);

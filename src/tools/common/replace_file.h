/*
 * Gives a file new content so that there is the old file or the new one at every moment, also after
 * a crash or a loss of power, and never a leftover: a temporary file in the same folder is written
 * and synced, then takes the place of the old one with its owner, mode and extended attributes.
 *
 * Where that would make it another file to somebody (more hard links, an owner that cannot be
 * given, a folder that may not be written, a mount point) the file is written in place, with the
 * space reserved first. Special files are written in place, too, without waiting for a reader.
 * Symlinks are followed, also one that dangles. A file without any write permission is refused even
 * to root.
 */
#pragma once

#include <stddef.h>
#include <sys/stat.h>

#include "tools/common/file_error.h"

typedef struct {
    ik_file_error_t error;
    const char *note; /* NULL, or what the user should know about a success (static text) */
} ik_replace_file_t;

/* expected, unless NULL, is the status of the file when its content was read: a file that changed
 * since is left alone (IK_FILE_ERROR_CHANGED). On every error the old file is untouched, except
 * when writing in place failed half-way. */
ik_replace_file_t ik_replace_file(const char *path, const char *bytes, size_t len,
                                  const struct stat *expected);

/*
 * Reads and writes small files as a whole. Files written here have mode 0600 and folders 0700,
 * whatever the umask is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/error.h"

/* Reads all of a regular file (never blocks on a FIFO), allocated on ctx and NUL-terminated (the
 * NUL is not part of len). IK_ERR_NOT_FOUND when it does not exist, IK_ERR_LIMIT when it is longer
 * than max, IK_ERR_DENIED when it may not be read, IK_ERR_INVALID when it is not a regular file. */
res_t ik_file_read(const void *ctx, const char *path, size_t max, char **bytes, size_t *len);

/* Writes all bytes to a descriptor; false with errno set. */
bool ik_file_write_all(int fd, const char *bytes, size_t len);

/* Replaces or creates the file atomically and durably (replace_file.h). A symlink is replaced, not
 * followed. */
res_t ik_file_write_private(const char *path, const char *bytes, size_t len);
/* As write_private without waiting for the disk: after a power failure the file may be empty. */
res_t ik_file_write_private_fast(const char *path, const char *bytes, size_t len);

/* Makes the folder and its missing parents. Folders that exist are left as they are. */
res_t ik_file_make_private_folder(const char *path);

/* Removes a file, or a folder with its content, as far as possible. A folder whose rights were
 * taken away is opened first; links are removed, not followed. parent is a descriptor or AT_FDCWD.
 */
void ik_file_remove_tree(int parent, const char *name);

/* The folder that contains path: the text before the last slash, "/" or ".". */
char *ik_file_folder(const void *ctx, const char *path);
char *ik_file_join(const void *ctx, const char *folder, const char *name);
/* Waits until no other process holds the folder, and holds it until the descriptor is closed. -1:
 * it cannot be held, as on some network filesystems. */
int ik_file_lock_folder(const char *folder);
/* Whether path is folder itself or below it. Compares the texts of two absolute paths. */
bool ik_file_is_within(const char *path, const char *folder);

/* One state of one file as text: device, inode, size, mtime and ctime in nanoseconds. */
char *ik_file_format_identity(const void *ctx, const struct stat *status);
/* Whether a file's time is at least two seconds past. With a younger one the file could change
 * again and keep the same time. */
bool ik_file_is_settled(struct timespec changed);

/* Opens a file without a name for reading and writing: in memory (memfd_create), or in /tmp on
 * kernels without it. Returns -1 and sets errno on failure. */
int ik_file_open_anonymous(const char *name, bool close_on_exec);

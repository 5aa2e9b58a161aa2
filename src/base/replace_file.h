/*
 * Replaces the content of a file atomically: at every moment, even after a crash or a power
 * failure, either the old file or the new one is there, and no leftover. A temporary file in the
 * same folder is written and synced, gets the owner, mode and extended attributes of the old file,
 * and is renamed over it.
 *
 * Where a rename would change more than the content or is not possible (several hard links, an
 * owner that cannot be set, a folder that is not writable, a mount point), the file is written in
 * place after its space has been reserved. Special files are written in place, too, without waiting
 * for a reader. Symlinks are followed, even dangling ones. A file without any write permission is
 * refused, even for root.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

typedef struct {
    /* The file's status when its content was read: if the file changed since then, it is left alone
     * (ESTALE). NULL: do not check. */
    const struct stat *expected;
    /* No process guards the temporary name, so a SIGKILL between two system calls may leave it
     * behind. For the program itself, which must not fork. */
    bool unguarded;
    /* For ikigai's own files: mode 0600, and a symlink is replaced, not followed. Implies
     * unguarded. */
    bool private;
    /* Does not wait for the disk: the content survives the end of the program, but a power failure
     * may leave the old file, the new one or an empty one. */
    bool fast;
    /* The caller syncs the folder; for several files in one folder. */
    bool folder_later;
    /* Other names of the file (hard links) keep its old content: the file is never written in
     * place, so it need not be writable. */
    bool separate;
} ik_replace_options_t;

typedef struct {
    int error;        /* 0 or an errno value; ESTALE: the file changed since it was read */
    bool opened;      /* the error came after a file was opened for writing */
    const char *note; /* static text: a warning for the user despite success; NULL: none */
} ik_replaced_t;

/* On every error the old file is untouched, except when writing in place failed half-way. */
ik_replaced_t ik_replace_file(const char *path, const char *bytes, size_t len,
                              const ik_replace_options_t *options);

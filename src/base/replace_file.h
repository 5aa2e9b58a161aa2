/*
 * Gives a file new content so that the old file or the new one is there at every moment, also after
 * a crash or a loss of power, and never a leftover: a temporary file in the same folder is written
 * and synced, then takes the place of the old one with its owner, mode and extended attributes.
 *
 * Where a rename would make it another file (more hard links, an owner that cannot be given, a
 * folder that may not be written, a mount point), the file is written in place, with the space
 * reserved first. Special files are written in place, too, without waiting for a reader. Symlinks
 * are followed, also one that dangles. A file without any write permission is refused even to root.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

typedef struct {
    /* The file's status when its content was read: one that changed since is left alone (ESTALE).
     * NULL: it does not matter. */
    const struct stat *expected;
    /* A file of ikigai's own: mode 0600, and a symlink is replaced and not followed. No process
     * guards the temporary name; a SIGKILL between two system calls may leave it behind. */
    bool private;
    /* Does not wait for the disk: the content survives the end of the program, but after a loss of
     * power the old file, the new one or an empty one may be there. */
    bool fast;
} ik_replace_options_t;

typedef struct {
    int error;        /* 0 or an errno value; ESTALE: the file changed since it was read */
    bool opened;      /* the error came after something was opened for writing */
    const char *note; /* NULL, or what the user should know about a success (static text) */
} ik_replaced_t;

/* On every error the old file is untouched, except when writing in place failed half-way. */
ik_replaced_t ik_replace_file(const char *path, const char *bytes, size_t len,
                              const ik_replace_options_t *options);

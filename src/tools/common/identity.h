/*
 * What makes a file the same file to its owner besides its bytes: owner, group, mode, extended
 * attributes (POSIX ACLs are among them).
 */
#pragma once

#include <sys/stat.h>

/* Gives the file open at fd the identity of the file at path, whose status is *status. Returns 0 or
 * an errno value; then fd's file must not take the other's place. */
int ik_identity_copy(int fd, const char *path, const struct stat *status);

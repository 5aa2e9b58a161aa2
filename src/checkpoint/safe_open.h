/*
 * Opens files below a folder without following a symbolic link in any component of the path, so
 * that a link that appears meanwhile leads nowhere.
 */
#pragma once

#include <stddef.h>

/* path is relative to the open folder root and has no ".." in it; a root of -1 is one that does not
 * exist. Returns a descriptor, or -1 with errno set: ELOOP when a component is a link, ENOTDIR when
 * one is a file. */
int ik_safe_open(int root, const char *path, int flags);
/* Opens the folder that contains path, for the *at calls. *name is the last component. */
int ik_safe_open_parent(int root, const char *path, const char **name);

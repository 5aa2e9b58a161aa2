/*
 * Lets processes change modes, owners, times and extended attributes of files below given places
 * only. Landlock does not control these changes, and where there are no namespaces no mount does.
 *
 * The kernel hands the calls to a thread of the keeper (seccomp's user notification). It opens the
 * file as the caller sees it, checks where the opened file lies, and makes the change itself, so
 * that nothing can be exchanged between the check and the change.
 */
#pragma once

#include <stddef.h>

/* Supervises the calling thread and all processes that it starts from now on. places are resolved
 * paths that stay valid. Returns errno. */
int ik_supervisor_start(const char *const *places, size_t count);

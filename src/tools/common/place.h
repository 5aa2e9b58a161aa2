/*
 * Where a path leads once the symlinks at its end are followed: an open folder and a name in it.
 * The name need not exist (a dangling link leads to the file it would create). Replacing a file
 * needs this because the new file must be made beside the target, not beside the link, and because
 * a folder held open stays the same one even when somebody renames it meanwhile.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

typedef struct {
    int folder; /* O_PATH; good for the *at calls only */
    char name[NAME_MAX + 1];
} ik_place_t;

/* False with errno set; then there is nothing to close. */
bool ik_place_find(ik_place_t *place, const char *path);
void ik_place_close(ik_place_t *place);

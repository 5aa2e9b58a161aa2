/*
 * Checks that no other user could have written a file. The file and its folder must be owned by the
 * user or root, must not be world-writable (not even a sticky folder) and must not be writable by a
 * group other than the user's primary one. Messages name the chmod or chown that helps. There is no
 * race between check and use: only the user and root could undo a passed check.
 */
#pragma once

#include "base/error.h"

/* Checks the file, its folder and, where path is a symlink, the folder of every link on the way to
 * the target. IK_ERR_DENIED when the rule is broken, IK_ERR_NOT_FOUND when there is no file. */
res_t ik_ownership_check_file(const char *path);
/* Checks only this folder. */
res_t ik_ownership_check_folder(const char *path);

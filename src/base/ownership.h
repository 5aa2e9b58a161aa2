/*
 * Whether others could have put their words into a file: the file and the folder it stands in must
 * be owned by me or root, not be world-writable (a sticky folder neither) and not be writable by a
 * group other than my primary one. Messages name the chmod or chown that helps. The check is worth
 * something before the use because those who pass it are the only ones who can change the answer.
 */
#pragma once

#include "base/error.h"

/* Checks the file, its folder and, where path is a symlink, the folder of every link on the way to
 * the target. IK_ERR_DENIED when the rule is broken, IK_ERR_NOT_FOUND when there is no file. */
res_t ik_ownership_check_file(const char *path);
/* Checks only this folder. */
res_t ik_ownership_check_folder(const char *path);

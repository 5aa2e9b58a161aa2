#include "base/ownership.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

enum { MAX_LINKS = 40 }; /* what the kernel follows */

/* Devices and folders such as /tmp are for everyone. A project can lead there with a link, and must
 * not have the user close them. */
static bool may_be_closed(const struct stat *status)
{
    return S_ISREG(status->st_mode) ||
           (S_ISDIR(status->st_mode) && (status->st_mode & S_ISVTX) == 0);
}

static res_t refuse_writable(const char *path, const struct stat *status, const char *by, char whom)
{
    return may_be_closed(status)
               ? ERR(DENIED, "%s can be changed by %s; run: chmod %c-w '%s'", path, by, whom, path)
               : ERR(DENIED, "%s can be changed by %s; use a file in a folder of your own", path,
                     by);
}

static res_t check_status(const char *path, const struct stat *status)
{
    uid_t me = geteuid();
    if (status->st_uid != me && status->st_uid != 0) {
        return ERR(DENIED,
                   "%s belongs to user %u, not to you or root; if you trust it, run: "
                   "sudo chown %u '%s'",
                   path, (unsigned)status->st_uid, (unsigned)me, path);
    }
    if (status->st_mode & S_IWOTH) {
        return refuse_writable(path, status, "everyone", 'o');
    }
    if ((status->st_mode & S_IWGRP) && status->st_gid != getegid()) {
        char group[64];
        snprintf(group, sizeof(group), "group %u, which is not your primary group",
                 (unsigned)status->st_gid);
        return refuse_writable(path, status, group, 'g');
    }
    return OK;
}

static res_t stat_error(const char *path)
{
    if (errno == ENOENT || errno == ENOTDIR) {
        return ERR(NOT_FOUND, "%s does not exist", path);
    }
    if (errno == EACCES) {
        return ERR(DENIED, "cannot access %s: %s", path, strerror(errno));
    }
    return ERR(SYSTEM, "cannot access %s: %s", path, strerror(errno));
}

static res_t check_target(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? check_status(path, &status) : stat_error(path);
}

res_t ik_ownership_check_folder(const char *path)
{
    return check_target(path);
}

/* The target of the link at path, or NULL when path is not a link. */
static char *follow(const void *ctx, const char *folder, const char *path)
{
    char target[PATH_MAX];
    ssize_t len = readlink(path, target, sizeof(target) - 1);
    if (len < 0) {
        return NULL;
    }
    target[len] = '\0';
    return target[0] == '/' ? ik_strdup(ctx, target) : ik_sprintf(ctx, "%s/%s", folder, target);
}

/* A user who may write a link's folder chooses its target, so every folder on the way is checked.
 */
static res_t check_chain(const void *scratch, const char *path)
{
    const char *at = path;
    for (int i = 0; i <= MAX_LINKS; i++) {
        char *folder = ik_file_folder(scratch, at);
        TRY(check_target(folder));
        char *next = follow(scratch, folder, at);
        if (next == NULL) {
            return check_target(at);
        }
        at = next;
    }
    return ERR(SYSTEM, "cannot access %s: %s", path, strerror(ELOOP));
}

res_t ik_ownership_check_file(const char *path)
{
    /* A missing file is reported as such, even in a folder that fails the check. */
    struct stat status;
    if (stat(path, &status) != 0) {
        return stat_error(path);
    }
    void *scratch = talloc_new(NULL);
    res_t result = check_chain(scratch, path);
    talloc_free(scratch);
    return result;
}

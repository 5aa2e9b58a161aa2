/*
 * A temporary folder for a test program: main creates and removes it, and it is emptied before each
 * test. A fixture could not remove it, because a test that fails never reaches its teardown.
 */
#pragma once

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite.h"

static char scratch_folder[64];

static inline int scratch_remove_entry(const char *path, const struct stat *status, int flag,
                                       struct FTW *walk)
{
    (void)status;
    (void)flag;
    return walk->level == 0 ? 0 : remove(path);
}

/* Unless root, the user can only empty folders that are writable. */
static inline int scratch_open_entry(const char *path, const struct stat *status, int flag,
                                     struct FTW *walk)
{
    (void)status;
    (void)walk;
    return flag == FTW_D ? chmod(path, 0755) : 0;
}

static inline void scratch_empty(void)
{
    nftw(scratch_folder, scratch_open_entry, 16, FTW_PHYS);
    nftw(scratch_folder, scratch_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static inline const char *scratch_path(const char *name)
{
    static char paths[256][256]; /* enough for one test at a time */
    static unsigned next;
    char *path = paths[next++ % 256];
    snprintf(path, sizeof(paths[0]), "%s/%s", scratch_folder, name);
    return path;
}

static inline void scratch_make_folder(const char *name)
{
    ck_assert_int_eq(mkdir(scratch_path(name), 0755), 0);
}

static inline const char *scratch_write(const char *name, const char *text)
{
    const char *path = scratch_path(name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(path, 0644), 0);
    return path;
}

static inline unsigned scratch_mode(const char *name)
{
    struct stat status;
    ck_assert_int_eq(lstat(scratch_path(name), &status), 0);
    return status.st_mode & 07777;
}

static inline int scratch_run(Suite *suite)
{
    snprintf(scratch_folder, sizeof(scratch_folder), "/tmp/ikigai-unit.XXXXXX");
    if (mkdtemp(scratch_folder) == NULL) {
        perror(scratch_folder);
        return 1;
    }
    int status = suite_run(suite);
    scratch_empty();
    rmdir(scratch_folder);
    return status;
}

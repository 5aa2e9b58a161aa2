/*
 * A folder of its own for a target that needs files: made with the first use, in TMPDIR, and gone
 * with the program.
 */
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "pieces.h"

static char folder_name[512];

static inline int folder_remove_entry(const char *path, const struct stat *status, int flag,
                                      struct FTW *walk)
{
    (void)status;
    (void)flag;
    (void)walk;
    return remove(path);
}

static inline void folder_remove(void)
{
    nftw(folder_name, folder_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void folder_make(void)
{
    const char *place = getenv("TMPDIR");
    snprintf(folder_name, sizeof(folder_name), "%s/ikigai-fuzz.XXXXXX",
             place == NULL || *place == '\0' ? "/tmp" : place);
    REQUIRE(mkdtemp(folder_name) != NULL);
    atexit(folder_remove);
}

static inline char *folder_path(const void *ctx, const char *name)
{
    if (folder_name[0] == '\0') {
        folder_make();
    }
    return ik_sprintf(ctx, "%s/%s", folder_name, name);
}

/* What no one writes in between. */
static inline void folder_write(const char *path, const void *bytes, size_t len)
{
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL && fwrite(bytes, 1, len, file) == len && fclose(file) == 0);
    REQUIRE(chmod(path, 0600) == 0);
}

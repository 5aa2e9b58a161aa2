/*
 * Reads the index of a git repository (versions 2, 3 and 4; SHA-1 and SHA-256): which files are
 * tracked, and what they were when git last looked. The bytes may come from anywhere; every length
 * is checked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

typedef struct {
    const char *path; /* NUL-terminated, relative to the root of the repository */
    uint32_t len;
    uint32_t mode;
    int64_t ctime_ns;
    int64_t mtime_ns;
    uint32_t inode; /* the lower 32 bits, as all that follow */
    uint32_t uid;
    uint32_t gid;
    uint32_t size;
    const unsigned char *object;
    bool usable; /* an ordinary file or link of stage 0, whose object may name it */
} ik_git_index_entry_t;

typedef struct {
    ik_git_index_entry_t *entries; /* sorted by path */
    size_t count;
    /* The names are known, but not all objects: a split index, or an extension that must be
     * understood. */
    bool names_only;

    const unsigned char *bytes; /* what was parsed */
    size_t len;
    size_t object_size;
    enum { IK_GIT_CHECKSUM_UNKNOWN, IK_GIT_CHECKSUM_HOLDS, IK_GIT_CHECKSUM_FAILS } checksum;
} ik_git_index_t;

/* Entries point into bytes, which must stay. object_size is 20 or 32. Returns NULL when the bytes
 * are not an index; the checksum is not compared. *shared is the name of the rest of a split index
 * (hexadecimal), or NULL. */
ik_git_index_t *ik_git_index_parse(const void *ctx, const char *bytes, size_t len,
                                   size_t object_size, const char **shared);

/* Whether the checksum matches, found when first asked. An index that was not read from a file must
 * not be asked. */
bool ik_git_index_is_whole(ik_git_index_t *index);

/* The first entry that is not before path. */
size_t ik_git_index_lower_bound(const ik_git_index_t *index, const char *path, size_t len);
/* As lower_bound, quick when the result is near that of the last call. */
size_t ik_git_index_lower_bound_near(const ik_git_index_t *index, size_t last, const char *path,
                                     size_t len);
/* Whether a path is tracked, or for a path that ends in a slash, something below it. */
bool ik_git_index_tracks(const ik_git_index_t *index, const char *path, size_t len);
/* Whether the file has not changed since git stored the entry in the index, which was written at
 * that time. */
bool ik_git_index_is_clean(const ik_git_index_entry_t *entry, const struct stat *st,
                           int64_t index_mtime_ns);

/*
 * A tool folder as it was at one moment, with one hash over all of it: the path, permissions and
 * content of every file and the target of every symlink. __pycache__ is left out. Looking does not
 * execute anything. A folder that holds something else than files, folders and symlinks that stay
 * inside, or too much, has no snapshot.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum {
    IK_TRUST_SNAPSHOT_MAX_FILES = 5000,
    IK_TRUST_SNAPSHOT_MAX_BYTES = 64 * 1024 * 1024,
    IK_TRUST_SNAPSHOT_HASH_LENGTH = 64, /* hexadecimal digits */
};

typedef struct {
    char *path; /* below the folder */
    mode_t mode;
    int64_t size;
    char *identity; /* device, inode, size, times: equal means unchanged */
    char *hash;     /* of the content; NULL for a symlink */
    char *target;   /* of a symlink; NULL for a file */
} ik_trust_snapshot_file_t;

typedef struct {
    char *folder; /* canonical */
    char hash[IK_TRUST_SNAPSHOT_HASH_LENGTH + 1];
    ik_trust_snapshot_file_t *files; /* sorted by path */
    size_t count;
    int64_t bytes;
    char **tools; /* file names of the top-level executables, sorted */
    size_t tool_count;
} ik_trust_snapshot_t;

/* The hash of a file that is known by its identity, or NULL: then it is read. */
typedef const char *(*ik_trust_snapshot_known_fn)(void *data, const ik_trust_snapshot_file_t *file);

/* folder is canonical; known may be NULL. The error's message says what keeps the folder from being
 * trusted. */
res_t ik_trust_snapshot_create(const void *ctx, const char *folder,
                               ik_trust_snapshot_known_fn known, void *data,
                               ik_trust_snapshot_t **out);

/* NULL when there is no such file in it. */
const ik_trust_snapshot_file_t *ik_trust_snapshot_find(const ik_trust_snapshot_t *snapshot,
                                                       const char *path);

/* Hashes a file into hex and, when copy_fd is not negative, writes what it read there. */
res_t ik_trust_snapshot_hash_file(int folder_fd, const char *path, int copy_fd, char *hex);

/* Whether a symlink, followed to its end, is still below the (canonical) folder. Looking at the
 * text would not do: "sub/../x" leaves when sub is itself a link. */
bool ik_trust_snapshot_ends_inside(const char *folder, const char *path, const char *target);

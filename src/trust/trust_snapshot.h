/*
 * The state of a folder, or of a .mcp.json, at one moment, with one hash over the path,
 * permissions and content of every file and the target of every symlink. __pycache__ is left out.
 * Taking a snapshot executes nothing. It fails for a folder that is too large or contains anything
 * but files, folders and symlinks that stay inside.
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
    char *identity; /* device, inode, size, times; equal means unchanged. "": file too young */
    char *hash;     /* of the content; NULL for a symlink */
    char *target;   /* of a symlink; NULL for a file */
} ik_trust_snapshot_file_t;

typedef struct {
    char *folder; /* canonical; for a single file its path */
    char *record; /* the name of the decision about it: folder, unless trust.c gives another one */
    char hash[IK_TRUST_SNAPSHOT_HASH_LENGTH + 1];
    ik_trust_snapshot_file_t *files; /* sorted by path */
    size_t count;
    int64_t bytes;
    char **tools; /* file names of the top-level executables, sorted */
    size_t tool_count;
} ik_trust_snapshot_t;

/* Returns the hash of a file whose identity is known, or NULL to have the file read. */
typedef const char *(*ik_trust_snapshot_known_fn)(void *data, const ik_trust_snapshot_file_t *file);

/* Opens the folder of a snapshot. For the only kind of single file that there is, .mcp.json, it is
 * the folder above, and *only is its name, else NULL. -1 with errno on failure. */
int ik_trust_snapshot_open(const char *folder, const char **only);

/* folder must be canonical and may also be a .mcp.json; known may be NULL. The error's message
 * says why the folder cannot be trusted. */
res_t ik_trust_snapshot_create(const void *ctx, const char *folder,
                               ik_trust_snapshot_known_fn known, void *data,
                               ik_trust_snapshot_t **out);

/* NULL when the snapshot has no such file. */
const ik_trust_snapshot_file_t *ik_trust_snapshot_find(const ik_trust_snapshot_t *snapshot,
                                                       const char *path);

/* Hashes a file into hex and, when copy_fd is not negative, copies its bytes there. */
res_t ik_trust_snapshot_hash_file(int folder_fd, const char *path, int copy_fd, char *hex);

/* Whether a symlink leads to a place below the (canonical) folder. The link's text alone does not
 * tell: "sub/../x" leads outside when sub is itself a link. */
bool ik_trust_snapshot_ends_inside(const char *folder, const char *path, const char *target);

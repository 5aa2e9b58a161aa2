/*
 * Consent for the tools of a project, given to bytes: nothing under the project's tool folder is
 * executed, not even with --schema, before the user trusted exactly these files. Trusting copies
 * the folder read-only to ~/.ikigai/trusted/HASH, and tools run from that copy; what was reviewed
 * is what runs, whatever happens to the folder afterwards.
 *
 * The hash covers the path, permissions and content of every file and the target of every symlink;
 * __pycache__ is left out. Decisions are kept in ~/.ikigai/trust.json.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/paths.h"

enum {
    IK_TOOL_TRUST_MAX_FILES = 5000,
    IK_TOOL_TRUST_MAX_BYTES = 64 * 1024 * 1024,
    IK_TOOL_TRUST_HASH_LENGTH = 64, /* hexadecimal digits */
};

typedef struct {
    char *path; /* below the folder */
    mode_t mode;
    int64_t size;
    char *identity; /* device, inode, size, times: equal means unchanged */
    char *hash;     /* of the content; NULL for a symlink */
    char *target;   /* of a symlink; NULL for a file */
} ik_tool_trust_file_t;

/* A folder as it was at one moment, sorted by path. */
typedef struct {
    char *folder; /* canonical */
    char hash[IK_TOOL_TRUST_HASH_LENGTH + 1];
    ik_tool_trust_file_t *files;
    size_t count;
    int64_t bytes;
    char **tools; /* file names of the top-level executables, sorted */
    size_t tool_count;
} ik_tool_trust_snapshot_t;

typedef enum {
    IK_TOOL_TRUST_ABSENT, /* no folder, or nothing in it that could be a tool */
    IK_TOOL_TRUST_NEVER,  /* not trusted so far */
    IK_TOOL_TRUST_CHANGED,
    IK_TOOL_TRUST_GIVEN,
    IK_TOOL_TRUST_REFUSED, /* it cannot be trusted as it is; see reason */
} ik_tool_trust_state_t;

typedef struct {
    ik_tool_trust_state_t state;
    ik_tool_trust_snapshot_t *snapshot; /* NULL when ABSENT or REFUSED */
    char *changed;                      /* CHANGED: the first file that differs, and how */
    char *reason;                       /* REFUSED */
} ik_tool_trust_status_t;

/* Looks at the folder (NULL: there is none) without executing anything. Files whose recorded
 * identity is unchanged are not read again; where the bytes are trusted and only identities are
 * new, those are recorded. */
ik_tool_trust_status_t *ik_tool_trust_check(const void *ctx, const ik_paths_t *paths,
                                            const char *folder);

/* Copies the folder into the private store, if it is still what the snapshot says, and returns the
 * copy's path. IK_ERR_CONFLICT when something changed in the meantime. Does not record anything:
 * this is trust for one run. */
res_t ik_tool_trust_copy(const void *ctx, const ik_paths_t *paths,
                         const ik_tool_trust_snapshot_t *snapshot, char **copy);

/* Copies and records the decision. */
res_t ik_tool_trust_grant(const ik_paths_t *paths, const ik_tool_trust_snapshot_t *snapshot);

/* Forgets the decision and removes the copy unless another folder's trust needs it. *known tells
 * whether there was one. */
res_t ik_tool_trust_revoke(const ik_paths_t *paths, const char *folder, bool *known);

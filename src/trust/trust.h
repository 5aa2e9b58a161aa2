/*
 * Consent for the tools of a project, given to bytes: nothing under the project's tool folder is
 * executed, not even with --schema, before the user trusted exactly these files. Trusting copies
 * the folder read-only to ~/.ikigai/trusted/HASH, and tools run from that copy; what was reviewed
 * is what runs, whatever happens to the folder afterwards. tool_snapshot.h says what the hash
 * covers. Decisions are kept in ~/.ikigai/trust.json.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/paths.h"
#include "trust/trust_snapshot.h"

typedef enum {
    IK_TRUST_ABSENT, /* no folder, or nothing in it that could be a tool */
    IK_TRUST_NEVER,  /* not trusted so far */
    IK_TRUST_CHANGED,
    IK_TRUST_GIVEN,
    IK_TRUST_REFUSED, /* it cannot be trusted as it is; see reason */
} ik_trust_state_t;

typedef struct {
    ik_trust_state_t state;
    ik_trust_snapshot_t
        *snapshot;      /* NULL when there is no folder, or none that could be looked at */
    char *changed;      /* CHANGED: the first file that differs, and how */
    char *trusted_hash; /* CHANGED: of what was trusted, whose copy may still be there */
    char *reason;       /* REFUSED */
} ik_trust_status_t;

/* Looks at the folder (NULL: there is none) without executing anything. Files whose recorded
 * identity is unchanged are not read again; where the bytes are trusted and only identities are
 * new, those are recorded. */
ik_trust_status_t *ik_trust_check(const void *ctx, const ik_paths_t *paths, const char *folder);

/* Copies and records the decision. */
res_t ik_trust_grant(const ik_paths_t *paths, const ik_trust_snapshot_t *snapshot);

/* Forgets the decision and removes the copy unless another folder's trust needs it. *known tells
 * whether there was one. */
res_t ik_trust_revoke(const ik_paths_t *paths, const char *folder, bool *known);

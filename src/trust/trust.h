/*
 * The user's consent to use a folder of a project: tools, hooks, commands, skills or agents, or its
 * .mcp.json. No file of such a folder is executed, not even with --schema, or sent to a model
 * before the user has trusted exactly these files. Trusting copies the folder read-only to
 * ~/.ikigai/trusted/HASH, and it is used from that copy, so that what is used is what was reviewed,
 * whatever happens to the folder afterwards. trust_snapshot.h says what the hash covers. Files are
 * trusted for one use: a link that makes hooks of trusted skills is decided about again. A second
 * decision is about effects: what tools may do beyond writing in the project. It ends with the
 * first. Decisions are kept in ~/.ikigai/trust.json.
 */
#pragma once

#include <stdbool.h>

#include "base/effects.h"
#include "base/error.h"
#include "base/paths.h"
#include "trust/trust_snapshot.h"

typedef enum {
    IK_TRUST_ABSENT,  /* no folder, or no file in it; no tool in a folder called tools */
    IK_TRUST_NEVER,   /* not trusted so far */
    IK_TRUST_CHANGED, /* trusted, but changed since */
    IK_TRUST_GIVEN,
    IK_TRUST_REFUSED, /* cannot be trusted in its present state; see reason */
} ik_trust_state_t;

/* What a tool was allowed beyond writing in the project: effects, or what it may ask ikigai for. */
typedef struct {
    const char *tool;
    ik_effects_t effects;
    unsigned host; /* ik_host_op_t, as the user was shown it */
} ik_trust_extra_t;

typedef struct {
    ik_trust_state_t state;
    ik_trust_snapshot_t *snapshot; /* NULL when there is no folder or it cannot be read */
    char *changed;                 /* CHANGED: the first file that differs, and how */
    char *trusted_hash;            /* CHANGED: of the trusted version; its copy may still exist */
    char *reason;                  /* REFUSED */
    ik_trust_extra_t *extras;      /* GIVEN: effects */
    size_t extra_count;
    ik_trust_extra_t *hosts; /* GIVEN: host */
    size_t host_count;
} ik_trust_status_t;

/* Checks the folder or single file (NULL: there is none) without executing anything. Files whose
 * recorded identity is unchanged are not read again. When the bytes are trusted and only identities
 * have changed, the new identities are recorded. */
ik_trust_status_t *ik_trust_check(const void *ctx, const ik_paths_t *paths, const char *folder);

/* Copies the folder and records the decision. It allows no tool more than writing in the project.
 */
res_t ik_trust_grant(const ik_paths_t *paths, const ik_trust_snapshot_t *snapshot);
/* Records what tools of the trusted folder are allowed beyond that. IK_ERR_CONFLICT when the bytes
 * are no longer trusted. */
res_t ik_trust_grant_extras(const ik_paths_t *paths, const ik_trust_snapshot_t *snapshot,
                            const ik_trust_extra_t *extras, size_t count);
/* Whether the user allowed the tool these effects, or more. */
bool ik_trust_allows(const ik_trust_status_t *status, const char *tool, ik_effects_t effects);

/* Records what tools of the trusted folder may ask ikigai for, when it was shown to the user. */
res_t ik_trust_grant_host(const ik_paths_t *paths, const ik_trust_snapshot_t *snapshot,
                          const ik_trust_extra_t *hosts, size_t count);
bool ik_trust_allows_host(const ik_trust_status_t *status, const char *tool, unsigned host);

/* Removes the decision, and the copy unless another trusted folder uses it. *known is set to
 * whether there was a decision. */
res_t ik_trust_revoke(const ik_paths_t *paths, const char *folder, bool *known);

/*
 * What a project would add to ikigai, for the user to review: its folders of tools, hooks,
 * commands, skills and agents, and the servers in .mcp.json. Each folder is trusted for itself, so
 * that a change in one takes back nothing else, but the user is asked once, about all that is not
 * trusted yet.
 */
#pragma once

#include "extend/extension_folder.h"
#include "tool/tool_review.h"

typedef struct {
    ik_extension_kind_t kind;
    bool servers; /* it is .mcp.json, and kind means nothing */
    const char *folder;
    ik_trust_status_t *status;
} ik_project_review_part_t;

typedef struct {
    ik_project_review_part_t *parts; /* folders that hold something */
    size_t count;
    size_t pending;                        /* those that can be trusted and are not */
    const ik_project_review_part_t *tools; /* NULL: there are none */
} ik_project_review_t;

/* Executes nothing. */
ik_project_review_t *ik_project_review_create(const void *ctx, const ik_paths_t *paths);

/* Says that the tools are the user's own, on ctx; NULL: they are a project's. */
char *ik_project_review_own(const void *ctx, const ik_paths_t *paths);
/* Why there is nothing to ask about, on ctx; NULL: ask the user. *refused: something cannot be
 * trusted. */
char *ik_project_review_obstacle(const void *ctx, const ik_paths_t *paths,
                                 const ik_project_review_t *review, bool *refused);
/* Lists every file of the folders that are asked about. registry as for ik_tool_review_format. */
char *ik_project_review_format(const void *ctx, const ik_project_review_t *review,
                               const ik_tool_registry_t *registry);
/* Their texts, or how they differ from what was trusted before. */
char *ik_project_review_contents(const void *ctx, const ik_paths_t *paths,
                                 const ik_project_review_t *review);
/* Trusts exactly the bytes that were reviewed. */
res_t ik_project_review_grant(const ik_paths_t *paths, const ik_project_review_t *review);
/* Revokes trust in all folders of the project, also in those that are gone. */
res_t ik_project_review_revoke(const ik_paths_t *paths, bool *known);

/*
 * The text with which `ikigai trust` and /trust ask the user to trust a project's folders. The
 * names in it come from the project: control characters and invisible characters are made visible.
 */
#pragma once

#include "tool/tool_registry.h"
#include "trust/trust.h"

extern const char ik_tool_review_question[];
extern const char ik_tool_review_granted[];
extern const char ik_tool_review_declined[];

/* The second question, about what the tools declare. */
extern const char ik_tool_review_effects_question[];
extern const char ik_tool_review_effects_allowed[];
extern const char ik_tool_review_effects_declined[];

/* Why the tools in the folder cannot or need not be trusted; NULL: ask the user. */
char *ik_tool_review_obstacle(const void *ctx, const char *folder, const ik_trust_status_t *status);

/* Lists every file with size, mode and hash, the tools that would be overridden, and the totals.
 * registry has the current tools, which may include earlier versions of these; NULL: none. */
char *ik_tool_review_format(const void *ctx, const ik_trust_status_t *status,
                            const ik_tool_registry_t *registry);

/* Lists every file of a folder of another kind ("skill"), and the totals. */
char *ik_tool_review_format_files(const void *ctx, const ik_trust_status_t *status,
                                  const char *kind);
/* A name from the project as part of one line. */
char *ik_tool_review_show_name(const void *ctx, const char *name);

/* Names the tools of the project that declare more than they are allowed, with their effects; NULL:
 * there are none. registry has the project's tools alone. */
char *ik_tool_review_effects(const void *ctx, const ik_tool_registry_t *registry);
/* Records that the user allows them what they declare. */
res_t ik_tool_review_allow_effects(const ik_paths_t *paths, const ik_trust_snapshot_t *snapshot,
                                   const ik_tool_registry_t *registry);
/* Names the tools that ask ikigai for something while they run, and what for; NULL: there are none.
 * On ctx. */
char *ik_tool_review_host(const void *ctx, const ik_tool_registry_t *registry);
/* Records that the user was shown that: these tools may have it from now on. */
res_t ik_tool_review_allow_host(const ik_paths_t *paths, const ik_trust_snapshot_t *snapshot,
                                const ik_tool_registry_t *registry);

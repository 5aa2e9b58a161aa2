/*
 * The text with which `ikigai trust` and /trust ask the user to trust a project's tools. The names
 * in it come from the project: control characters and invisible characters are made visible.
 */
#pragma once

#include "tool/tool_registry.h"
#include "trust/trust.h"

extern const char ik_tool_review_question[];
extern const char ik_tool_review_granted[];
extern const char ik_tool_review_declined[];

/* Why the tools in the folder cannot or need not be trusted; NULL: ask the user. */
char *ik_tool_review_obstacle(const void *ctx, const char *folder, const ik_trust_status_t *status);

/* Lists every file with size, mode and hash, the tools that would be overridden, and the totals.
 * registry has the current tools, which may include earlier versions of these; NULL: none. */
char *ik_tool_review_format(const void *ctx, const ik_trust_status_t *status,
                            const ik_tool_registry_t *registry);

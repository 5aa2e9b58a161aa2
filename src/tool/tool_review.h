/*
 * What the user is asked to consent to, as text for people, shared by `ikigai trust` and /trust.
 * Names in it are foreign: what could drive a terminal or hide something is shown, not obeyed.
 */
#pragma once

#include "tool/tool_registry.h"
#include "trust/trust.h"

extern const char ik_tool_review_question[];
extern const char ik_tool_review_granted[];
extern const char ik_tool_review_declined[];

/* Why there is nothing to consent to in that folder; NULL when there is: then comes the review. */
char *ik_tool_review_obstacle(const void *ctx, const char *folder, const ik_trust_status_t *status);

/* Every file with size, mode and hash, the tools they would hide, and the sum, in lines. registry:
 * what is there without them, or with an earlier state of them; NULL: nothing is. */
char *ik_tool_review_format(const void *ctx, const ik_trust_status_t *status,
                            const ik_tool_registry_t *registry);

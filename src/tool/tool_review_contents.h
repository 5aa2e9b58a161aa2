/*
 * Shows the user who is asked to trust a project's tools what the files contain: the text of each,
 * or how it differs from the copy that was trusted before. The result is plain text; control
 * characters and invisible characters are spelled out.
 */
#pragma once

#include "base/paths.h"
#include "trust/trust.h"

char *ik_tool_review_contents(const void *ctx, const ik_paths_t *paths,
                              const ik_trust_status_t *status);

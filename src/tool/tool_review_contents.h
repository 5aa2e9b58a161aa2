/*
 * What the files of a project's tool folder hold, for the user who is asked to trust them: the text
 * of each, or how it differs from the copy that was trusted before. Only what is text and newlines
 * comes out; a byte that a terminal could obey, or that hides something, is spelled out.
 */
#pragma once

#include "base/paths.h"
#include "trust/trust.h"

char *ik_tool_review_contents(const void *ctx, const ik_paths_t *paths,
                              const ik_trust_status_t *status);

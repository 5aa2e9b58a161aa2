/*
 * The project's files for completion after '@': those that git lists or, outside a repository,
 * those that the glob tool finds. They are listed in the background when a completion list opens,
 * and cached for a few seconds.
 */
#pragma once

#include "agent/shared.h"
#include "base/paths.h"
#include "terminal/prompt.h"

typedef struct ik_repl_files ik_repl_files_t;

/* on_ready is called from the loop when a new list is there. */
ik_repl_files_t *ik_repl_files_create(const void *ctx, ik_process_host_t *host,
                                      const ik_paths_t *paths, void (*on_ready)(void *data),
                                      void *data);
/* Returns the current list and refreshes it in the background if it is old. */
void ik_repl_files_list(ik_repl_files_t *files, ik_completions_t *out);

/*
 * The files of the project for completion behind '@': what git knows of it, or where there is no
 * repository, what the glob tool finds. Asked in the background when a list opens, and kept for a
 * while.
 */
#pragma once

#include "agent/shared.h"
#include "base/paths.h"
#include "terminal/prompt.h"

typedef struct ik_repl_files ik_repl_files_t;

/* on_ready comes from the loop when files were found. */
ik_repl_files_t *ik_repl_files_create(const void *ctx, ik_process_host_t *host,
                                      const ik_paths_t *paths, void (*on_ready)(void *data),
                                      void *data);
/* What is known now; asks anew when that is old. */
void ik_repl_files_list(ik_repl_files_t *files, ik_completions_t *out);

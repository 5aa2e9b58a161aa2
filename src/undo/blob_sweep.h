/*
 * Removes what no stored session needs from the folder of blobs: recorded states with their
 * contents, and images. What a running program has just written is kept, because the message that
 * names it may not be stored yet.
 *
 * Sessions may be in other databases than the usual one. BLOBS/databases names those that were
 * used, each path ended by a NUL; what their sessions need is kept as well.
 */
#pragma once

#include "base/config.h"
#include "base/paths.h"
#include "io/process.h"
#include "store/store.h"

/* Remembers a database that is not the usual one, once there are blobs. Does nothing for the usual
 * one. */
void ik_blob_sweep_remember(const ik_paths_t *paths, const char *database);
/* store has the sessions of the usual database. Removes nothing if one of them cannot be read.
 * Blocks. */
res_t ik_blob_sweep_run(ik_process_host_t *host, const ik_paths_t *paths, const ik_config_t *config,
                        ik_store_t *store);

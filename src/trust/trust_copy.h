/*
 * The private store of trusted folders: read-only copies, named by the hash of their content. A
 * copy appears only when it is complete and never changes. Tools run from it.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "trust/trust_snapshot.h"

/* Copies the snapshot's folder into the store, unless the copy exists already, and returns its
 * path. IK_ERR_CONFLICT when a file differs from the snapshot. */
res_t ik_trust_copy_create(const void *ctx, const char *store, const ik_trust_snapshot_t *snapshot,
                           char **copy);

void ik_trust_copy_remove(const char *store, const char *hash);

/* Removes the copies that are not used and were made more than a week ago. */
void ik_trust_copy_clean(const char *store, bool (*is_used)(void *data, const char *hash),
                         void *data);

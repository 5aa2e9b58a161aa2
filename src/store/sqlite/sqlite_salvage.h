/*
 * Saving what can be read of a damaged SQLite file. The file itself is neither changed nor deleted:
 * it gets another name, and a new one with what was saved takes its place.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"

typedef struct {
    char *aside; /* what the damaged file is called now; on ctx */
    int64_t sessions;
    int64_t messages; /* carried over */
    int64_t lost;     /* messages; -1: it cannot be told how many */
} ik_sqlite_salvage_t;

/* For a file that store_sqlite.h says is damaged. A session of which messages were lost is numbered
 * anew, one of which nothing but messages is left gets a new id and no folder. On an error, which
 * may be IK_ERR_CONFLICT when somebody uses the file, everything is as it was. */
res_t ik_sqlite_salvage(const void *ctx, const char *path, ik_sqlite_salvage_t *report);

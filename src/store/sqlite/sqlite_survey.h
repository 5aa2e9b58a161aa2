/* What `ikigai doctor` tells of the history of this machine and of the library that keeps it. */
#pragma once

#include "store/store.h"

typedef struct {
    const char *session_id;
    ik_holder_t holder;
} ik_sqlite_survey_use_t;

typedef struct {
    int64_t sessions;
    int64_t messages;
    ik_sqlite_survey_use_t *uses; /* sessions that are being written right now */
    size_t use_count;
} ik_sqlite_survey_t;

/* Strings on ctx. */
res_t ik_sqlite_survey(const void *ctx, ik_store_t *store, ik_sqlite_survey_t *out);

/* Reads everything there is, twice: as SQLite sees it (store_sqlite.h) and as whoever wants to read
 * the messages. IK_ERR_DAMAGED with the first thing that is wrong. */
res_t ik_sqlite_survey_check(ik_store_t *store);

/* How many messages that are shared with a server it does not have yet; NULL: the one that has
 * most. address is where it answers. */
res_t ik_sqlite_survey_undelivered(ik_store_t *store, const char *server, const char *address,
                                   int64_t *count);

/* "SQLite 3.40.1 with FTS5"; IK_ERR_NOT_FOUND when it cannot do what is needed. */
res_t ik_sqlite_survey_library(const void *ctx, char **out);

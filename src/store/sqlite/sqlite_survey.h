/* What `ikigai doctor` reports about the local history and the SQLite library. */
#pragma once

#include "store/history_survey.h"

/* Strings are on ctx. */
res_t ik_sqlite_survey(const void *ctx, ik_store_t *store, ik_history_survey_t *out);

/* Checks the file with SQLite's own check and then by reading every message. IK_ERR_DAMAGED with
 * the first fault. */
res_t ik_sqlite_survey_check(ik_store_t *store);

/* Counts the messages that are shared with a server and not delivered to it yet. server NULL: the
 * server that has most. address is where it answers. */
res_t ik_sqlite_survey_undelivered(ik_store_t *store, const char *server, const char *address,
                                   int64_t *count);

/* "SQLite 3.40.1 with FTS5"; IK_ERR_NOT_FOUND without FTS5. */
res_t ik_sqlite_survey_library(const void *ctx, char **out);

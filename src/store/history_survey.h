/*
 * Examines the stores behind a history, for `ikigai doctor`: the local SQLite file and the
 * PostgreSQL server of a shared history. Calls block.
 */
#pragma once

#include "store/store.h"

typedef struct {
    const char *session_id;
    ik_holder_t holder;
} ik_history_use_t;

typedef struct {
    int64_t sessions;
    int64_t messages;
    ik_history_use_t *uses; /* sessions that live processes have claimed */
    size_t use_count;
} ik_history_survey_t;

typedef struct {
    char *aside; /* the new name of the damaged file; on ctx */
    int64_t sessions;
    int64_t messages; /* saved */
    int64_t lost;     /* messages; -1: not known */
} ik_history_salvage_t;

/* "SQLite 3.40.1 with FTS5"; IK_ERR_NOT_FOUND without FTS5. */
res_t ik_history_survey_sqlite(const void *ctx, char **out);
/* Opens the local file and reads all of it. IK_ERR_DAMAGED with the first fault; the file is closed
 * then, as ik_history_survey_salvage requires. */
res_t ik_history_survey_open(const void *ctx, const char *path, ik_store_t **out);
/* Saves the readable part of a damaged file under its name. On an error, such as IK_ERR_CONFLICT
 * when a process uses the file, nothing has changed. */
res_t ik_history_survey_salvage(const void *ctx, const char *path, ik_history_salvage_t *out);
/* Counts what the local file holds. Strings are on ctx. */
res_t ik_history_survey_local(const void *ctx, ik_store_t *local, ik_history_survey_t *out);

/* "libpq 15.18", or why it cannot be loaded. */
res_t ik_history_survey_libpq(const void *ctx, char **out);
/* Connects to the server and returns its identity on ctx. IK_ERR_GONE when it does not answer. */
res_t ik_history_survey_server(const void *ctx, const char *url, char **identity);
/* Counts the messages that wait for delivery and the sessions that the user has not shared.
 * identity is NULL when the server does not answer: *withheld is 0 then. address is the URL without
 * its password. */
res_t ik_history_survey_undelivered(ik_store_t *local, const char *identity, const char *address,
                                    int64_t *messages, int64_t *withheld);

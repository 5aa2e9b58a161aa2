/*
 * The shared history: sessions in a PostgreSQL database, in its schema "ikigai". libpq is loaded
 * when the first store is opened.
 *
 * Every call is bounded in time. A lost connection is replaced by the next call. A call that cannot
 * get through returns IK_ERR_GONE, which does not say whether a write arrived; writing it again is
 * harmless. Claims belong to the connection and are taken again with a new one.
 */
#pragma once

#include "store/store.h"

typedef struct {
    const char *url; /* postgresql://… */
    int wake_fd; /* -1: none. Calls give up (IK_ERR_GONE) while it is readable; never read from */
    int connect_ms; /* 0: 5,000 */
    int command_ms; /* 0: 15,000 */
} ik_store_postgres_options_t;

/* Connects and migrates an older schema. IK_ERR_GONE when the server does not answer, IK_ERR_DENIED
 * when it refuses access, IK_ERR_CONFLICT when the schema is newer than the program,
 * IK_ERR_NOT_FOUND when libpq is not installed. */
res_t ik_store_postgres_open(const void *ctx, const ik_store_postgres_options_t *options,
                             ik_store_t **out);
/* Replaces the connection if it is known to be lost. */
res_t ik_store_postgres_reach(ik_store_t *store);
/* The identity of this history, created with the schema. */
const char *ik_store_postgres_identity(const ik_store_t *store);
/* "libpq 15.18", or why it cannot be loaded. */
res_t ik_store_postgres_describe(const void *ctx, char **out);

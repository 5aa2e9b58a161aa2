/*
 * The shared history: a PostgreSQL database with the same sessions in it, read and written with
 * libpq, which is loaded when the first store is opened. Everything lives in the schema "ikigai" of
 * the database.
 *
 * Every call is bounded in time. A connection that was lost is made anew by the next call; a call
 * that cannot get through is IK_ERR_GONE, which says nothing about whether a write arrived: writing
 * it again is harmless. Claims are held by the connection and are taken again with a new one.
 */
#pragma once

#include "store/store.h"

typedef struct {
    const char *url; /* postgresql://… */
    int wake_fd;     /* readable: give up at once (IK_ERR_GONE); -1: none. Never read from */
    int connect_ms;  /* 0: 5,000 */
    int command_ms;  /* 0: 15,000 */
} ik_store_postgres_options_t;

/* Connects, and brings an older schema up to this program's. IK_ERR_GONE when nobody answers,
 * IK_ERR_DENIED when it is not let in, IK_ERR_CONFLICT when the schema is newer than the program,
 * IK_ERR_NOT_FOUND when libpq is not installed. */
res_t ik_store_postgres_open(const void *ctx, const ik_store_postgres_options_t *options,
                             ik_store_t **out);
/* Whether it answers, as far as that is known without asking; a lost connection is made anew. */
res_t ik_store_postgres_reach(ik_store_t *store);
/* Which history this is: made with the schema, and different in a copy that was begun anew. */
const char *ik_store_postgres_identity(const ik_store_t *store);
/* "libpq 15.18", or why it cannot be loaded. */
res_t ik_store_postgres_describe(const void *ctx, char **out);

/*
 * One connection to a PostgreSQL server. Calls wait for it, but no call waits longer than it may:
 * connecting takes connect_ms at most; a statement is given up when for command_ms nothing came or
 * went (the server itself gives up a little earlier), and everything at once when wake_fd is
 * readable. What is given up half-way costs the connection: IK_ERR_GONE, as when it is lost.
 *
 * On a connection that stands: UTF-8, timeouts of the server's own, and a search path that finds
 * only what PostgreSQL brings along, so name the schema of everything else.
 */
#pragma once

#include "store/postgres/pq_params.h"
#include "store/postgres/pq_rows.h"
#include "store/postgres/store_postgres.h"

typedef struct ik_pq_link ik_pq_link_t;

/* Does not connect yet; closes when it is freed. IK_ERR_INVALID for a wrong URL, IK_ERR_NOT_FOUND
 * when there is no libpq. */
res_t ik_pq_link_create(const void *ctx, const ik_store_postgres_options_t *options,
                        ik_pq_link_t **out);

/* Whether there is a connection; looks at it, so one that went since is seen. */
bool ik_pq_link_is_up(ik_pq_link_t *link);
/* Replaces the connection, if there is one. */
res_t ik_pq_link_connect(ik_pq_link_t *link);
void ik_pq_link_close(ik_pq_link_t *link);
/* Of a connection that stands; "?" otherwise. */
const char *ik_pq_link_user(const ik_pq_link_t *link);
const char *ik_pq_link_database(const ik_pq_link_t *link);
/* For messages: "PostgreSQL at db.example.org". */
const char *ik_pq_link_name(const ik_pq_link_t *link);

/* Runs one statement. params may be NULL; so may rows, otherwise they are made on ctx. */
res_t ik_pq_link_run(const void *ctx, ik_pq_link_t *link, const char *sql,
                     const ik_pq_params_t *params, ik_pq_rows_t **rows);
/* The same for a statement with megabytes of parameters, which may be slow to arrive: the server's
 * clock starts when all are there. sql must be a text that stays where it is, and is prepared with
 * the first use of it on a connection. */
res_t ik_pq_link_run_large(const void *ctx, ik_pq_link_t *link, const char *sql,
                           const ik_pq_params_t *params, ik_pq_rows_t **rows);

/* Lets time pass. */
res_t ik_pq_link_pause(ik_pq_link_t *link, int ms);

/* Runs body inside a transaction, which is ended either way: an error of body's takes everything
 * back, and is the result. */
typedef res_t (*ik_pq_link_body_fn)(void *data);
res_t ik_pq_link_transact(ik_pq_link_t *link, ik_pq_link_body_fn body, void *data);

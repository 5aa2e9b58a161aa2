/*
 * One connection to a PostgreSQL server. Calls block within limits: connecting takes at most
 * connect_ms; a statement fails when no byte was sent or received for command_ms (the server's own
 * timeout is a little shorter); and every call fails at once when wake_fd is readable. A statement
 * that is abandoned costs the connection, and the result is IK_ERR_GONE as when it is lost.
 *
 * A connection uses UTF-8, has timeouts on the server, and a search path with PostgreSQL's own
 * schemas only: qualify all other names.
 */
#pragma once

#include "store/postgres/pq_params.h"
#include "store/postgres/pq_rows.h"
#include "store/postgres/store_postgres.h"

typedef struct ik_pq_link ik_pq_link_t;

/* Does not connect; freeing it closes the connection. IK_ERR_INVALID for a wrong URL,
 * IK_ERR_NOT_FOUND without libpq. */
res_t ik_pq_link_create(const void *ctx, const ik_store_postgres_options_t *options,
                        ik_pq_link_t **out);

/* Whether there is a connection; checks the socket, so a connection that was closed meanwhile
 * counts as lost. */
bool ik_pq_link_is_up(ik_pq_link_t *link);
/* Connects; an existing connection is closed first. */
res_t ik_pq_link_connect(ik_pq_link_t *link);
void ik_pq_link_close(ik_pq_link_t *link);
/* "?" without a connection. */
const char *ik_pq_link_user(const ik_pq_link_t *link);
const char *ik_pq_link_database(const ik_pq_link_t *link);
/* For messages: "PostgreSQL at db.example.org". */
const char *ik_pq_link_name(const ik_pq_link_t *link);

/* Runs one statement. params and rows may be NULL; *rows is on ctx. */
res_t ik_pq_link_run(const void *ctx, ik_pq_link_t *link, const char *sql,
                     const ik_pq_params_t *params, ik_pq_rows_t **rows);
/* Runs a statement with megabytes of parameters. It is prepared on its first use on a connection,
 * so that the statement timeout starts when all parameters have arrived. sql must have static
 * storage: its address identifies it. */
res_t ik_pq_link_run_large(const void *ctx, ik_pq_link_t *link, const char *sql,
                           const ik_pq_params_t *params, ik_pq_rows_t **rows);

/* Sleeps; IK_ERR_GONE when wake_fd is readable. */
res_t ik_pq_link_pause(ik_pq_link_t *link, int ms);

/* Runs body in a transaction. An error of body rolls it back and is the result. */
typedef res_t (*ik_pq_link_body_fn)(void *data);
res_t ik_pq_link_transact(ik_pq_link_t *link, ik_pq_link_body_fn body, void *data);

/*
 * The sessions a connection has claimed. A claim is an advisory lock of the server on the number
 * that the id of the session is: it goes with the connection, however that ends. The table holders
 * only says who has it, for those who do not get it.
 */
#pragma once

#include "store/postgres/pq_link.h"

typedef struct ik_postgres_claims ik_postgres_claims_t;

ik_postgres_claims_t *ik_postgres_claims_create(const void *ctx, ik_pq_link_t *link);

res_t ik_postgres_claims_take(ik_postgres_claims_t *claims, const char *session_id,
                              const ik_holder_t *self, ik_holder_t *other);
/* Without a connection there is nothing left to release but the memory of it. */
res_t ik_postgres_claims_release(ik_postgres_claims_t *claims, const char *session_id,
                                 const ik_holder_t *self);
/* On a new connection: takes them again. One that somebody else has meanwhile is lost. */
res_t ik_postgres_claims_renew(ik_postgres_claims_t *claims);

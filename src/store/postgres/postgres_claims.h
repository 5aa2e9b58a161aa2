/*
 * The sessions that a connection has claimed. A claim is an advisory lock on the session's id, read
 * as a number; the server releases it with the connection. The table holders only says who holds a
 * lock, for messages to others.
 */
#pragma once

#include "store/postgres/pq_link.h"

typedef struct ik_postgres_claims ik_postgres_claims_t;

ik_postgres_claims_t *ik_postgres_claims_create(const void *ctx, ik_pq_link_t *link);

/* As ik_store_claim. Waits up to two seconds for a lock whose holder is dead or not known. */
res_t ik_postgres_claims_take(ik_postgres_claims_t *claims, const char *session_id,
                              const ik_holder_t *self, ik_holder_t *other);
/* Without a connection the server has released the lock already. */
res_t ik_postgres_claims_release(ik_postgres_claims_t *claims, const char *session_id,
                                 const ik_holder_t *self);
/* Takes all claims again on a new connection. A claim that another process took is lost. */
res_t ik_postgres_claims_renew(ik_postgres_claims_t *claims);

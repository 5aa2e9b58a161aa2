/* Resolves host names within a time limit. libpq itself would block in the resolver, for a minute
 * in bad cases. */
#pragma once

#include "base/error.h"
#include "store/postgres/pq_url.h"
#include "store/postgres/pq_wait.h"

/* Comma-separated lists, as libpq accepts them. All are NULL when the URL needs no resolver because
 * it names a socket, an address or no host. */
typedef struct {
    char *host;
    char *hostaddr;
    char *port; /* NULL: the URL names none */
} ik_pq_address_t;

/* Strings are on ctx. IK_ERR_GONE when no name could be resolved in time. */
res_t ik_pq_address_find(const void *ctx, const ik_pq_url_t *url, const ik_pq_patience_t *patience,
                         ik_pq_address_t *out);

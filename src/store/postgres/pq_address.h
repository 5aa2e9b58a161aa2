/*
 * The addresses of host names, found with patience that ends: libpq would ask the resolver in the
 * middle of everything and wait for it as long as that takes, which can be a minute.
 */
#pragma once

#include "base/error.h"
#include "store/postgres/pq_url.h"
#include "store/postgres/pq_wait.h"

/* As libpq takes it: lists with commas, each place beside its address. All NULL when the URL needs
 * no resolver: sockets of this machine, addresses, nothing said. */
typedef struct {
    char *host;
    char *hostaddr;
    char *port; /* NULL: what the URL says is right for all */
} ik_pq_address_t;

/* Whatever is allocated is on ctx. IK_ERR_GONE when none of the names is known, or not in time. */
res_t ik_pq_address_find(const void *ctx, const ik_pq_url_t *url, const ik_pq_patience_t *patience,
                         ik_pq_address_t *out);

/* Writes a batch to the shared history. */
#pragma once

#include "store/postgres/pq_link.h"

/* store.h says what a write is. Bytes that are not UTF-8 become U+FFFD, also before the comparison
 * with what the server has. Writes to a deleted session are dropped. */
res_t ik_postgres_write(ik_pq_link_t *link, const ik_store_batch_t *batch);

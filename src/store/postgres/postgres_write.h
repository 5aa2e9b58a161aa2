/* Writing to the shared history: a batch is a handful of statements, however many events it has. */
#pragma once

#include "store/postgres/pq_link.h"

/* store.h says what a write is. What is not UTF-8 becomes U+FFFD, for the comparison with what is
 * there, too; what is written to a deleted session is dropped. */
res_t ik_postgres_write(ik_pq_link_t *link, const ik_store_batch_t *batch);

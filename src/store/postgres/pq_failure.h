/* What the server's complaints mean to us. */
#pragma once

#include "base/error.h"
#include "store/postgres/pq_library.h"
#include "store/postgres/pq_url.h"

/* Why a statement failed. */
res_t ik_pq_failure_of_result(const ik_pq_library_t *library, const ik_pq_url_t *url,
                              const ik_pq_result_t *result);
/* Why there is no connection, or no longer. Before it stands, errors must be verbose. */
res_t ik_pq_failure_of_connection(const ik_pq_library_t *library, const ik_pq_url_t *url,
                                  const ik_pq_conn_t *conn);

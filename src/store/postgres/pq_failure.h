/* Turns errors of libpq and the server into errors of ours. */
#pragma once

#include "base/error.h"
#include "store/postgres/pq_library.h"
#include "store/postgres/pq_url.h"

/* Why a statement failed. */
res_t ik_pq_failure_of_result(const ik_pq_library_t *library, const ik_pq_url_t *url,
                              const ik_pq_result_t *result);
/* Why there is no connection. While connecting, error verbosity must be IK_PQ_ERRORS_VERBOSE. */
res_t ik_pq_failure_of_connection(const ik_pq_library_t *library, const ik_pq_url_t *url,
                                  const ik_pq_conn_t *conn);

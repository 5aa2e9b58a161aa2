/* The result of a statement. Texts live as long as the rows. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/postgres/pq_library.h"

typedef struct {
    const ik_pq_library_t *library;
    ik_pq_result_t *result;
    int count;
} ik_pq_rows_t;

/* Takes over the result; freeing the rows clears it. */
ik_pq_rows_t *ik_pq_rows_adopt(const void *ctx, const ik_pq_library_t *library,
                               ik_pq_result_t *result);

/* NULL for SQL NULL. */
const char *ik_pq_rows_text(const ik_pq_rows_t *rows, int row, int column);
/* fallback for SQL NULL. */
int64_t ik_pq_rows_number(const ik_pq_rows_t *rows, int row, int column, int64_t fallback);
double ik_pq_rows_real(const ik_pq_rows_t *rows, int row, int column, double fallback);
bool ik_pq_rows_bool(const ik_pq_rows_t *rows, int row, int column);

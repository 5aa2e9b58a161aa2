#include "store/postgres/pq_rows.h"

#include <stdlib.h>

#include "base/alloc.h"

static int clear(ik_pq_rows_t *rows)
{
    rows->library->clear(rows->result);
    return 0;
}

ik_pq_rows_t *ik_pq_rows_adopt(const void *ctx, const ik_pq_library_t *library,
                               ik_pq_result_t *result)
{
    ik_pq_rows_t *rows = ik_new(ctx, ik_pq_rows_t);
    *rows = (ik_pq_rows_t){library, result, library->ntuples(result)};
    talloc_set_destructor(rows, clear);
    return rows;
}

const char *ik_pq_rows_text(const ik_pq_rows_t *rows, int row, int column)
{
    bool is_null = rows->library->getisnull(rows->result, row, column) != 0;
    return is_null ? NULL : rows->library->getvalue(rows->result, row, column);
}

int64_t ik_pq_rows_number(const ik_pq_rows_t *rows, int row, int column, int64_t fallback)
{
    const char *text = ik_pq_rows_text(rows, row, column);
    return text == NULL ? fallback : strtoll(text, NULL, 10);
}

/* strtod() is safe: the program never leaves the C locale, so it expects a decimal point. */
double ik_pq_rows_real(const ik_pq_rows_t *rows, int row, int column, double fallback)
{
    const char *text = ik_pq_rows_text(rows, row, column);
    return text == NULL ? fallback : strtod(text, NULL);
}

bool ik_pq_rows_bool(const ik_pq_rows_t *rows, int row, int column)
{
    const char *text = ik_pq_rows_text(rows, row, column);
    return text != NULL && text[0] == 't';
}

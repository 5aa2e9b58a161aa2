/*
 * The parameters $1, $2 … of a statement. Single values are sent as text. Arrays, columns of many
 * rows, are sent in the server's binary format, so that nothing needs quoting.
 */
#pragma once

#include <stdint.h>

#include "base/buffer.h"

enum { IK_PQ_PARAMS_MAX = 16 };

typedef struct {
    const void *ctx;
    int count;
    const char *values[IK_PQ_PARAMS_MAX];
    int lengths[IK_PQ_PARAMS_MAX];
    int formats[IK_PQ_PARAMS_MAX];
} ik_pq_params_t;

/* Numbers are formatted on ctx. Texts and arrays are not copied: they must live until the statement
 * has run. */
void ik_pq_params_init(ik_pq_params_t *params, const void *ctx);
/* NULL is sent as SQL NULL. */
void ik_pq_params_add_text(ik_pq_params_t *params, const char *text);
void ik_pq_params_add_number(ik_pq_params_t *params, int64_t number);

typedef enum {
    IK_PQ_ARRAY_TEXT,   /* text[] */
    IK_PQ_ARRAY_NUMBER, /* bigint[] */
    IK_PQ_ARRAY_REAL,   /* double precision[] */
} ik_pq_array_kind_t;

typedef struct {
    ik_pq_array_kind_t kind;
    uint32_t count;
    ik_buffer_t elements;
} ik_pq_array_t;

void ik_pq_array_init(ik_pq_array_t *array, const void *ctx, ik_pq_array_kind_t kind);
void ik_pq_array_add_null(ik_pq_array_t *array);
/* The array must be of that kind. A NULL text is sent as SQL NULL. */
void ik_pq_array_add_text(ik_pq_array_t *array, const char *text);
void ik_pq_array_add_number(ik_pq_array_t *array, int64_t number);
void ik_pq_array_add_real(ik_pq_array_t *array, double number);

/* Completes the array; nothing may be added to it afterwards. */
void ik_pq_params_add_array(ik_pq_params_t *params, ik_pq_array_t *array);

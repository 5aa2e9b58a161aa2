/*
 * What goes into the $1, $2 … of a statement. Single values go as text; an array, a column of many
 * rows, goes as the server has it itself, so that nothing in it needs quoting.
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

/* Numbers are written on ctx; texts and arrays must live until the statement has run. */
void ik_pq_params_init(ik_pq_params_t *params, const void *ctx);
/* NULL is SQL's. */
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
/* To an array of their kind. A NULL text is SQL's. */
void ik_pq_array_add_text(ik_pq_array_t *array, const char *text);
void ik_pq_array_add_number(ik_pq_array_t *array, int64_t number);
void ik_pq_array_add_real(ik_pq_array_t *array, double number);

/* The array is complete and is not added to any more. */
void ik_pq_params_add_array(ik_pq_params_t *params, ik_pq_array_t *array);

/*
 * Token counts of an answer, with one meaning for all providers: cached and cache_write are parts
 * of in, reasoning is part of out. A count that was not reported is IK_USAGE_UNKNOWN.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/json.h"

#define IK_USAGE_UNKNOWN INT64_C(-1)

typedef struct {
    int64_t in;
    int64_t cached;
    int64_t cache_write;
    int64_t out;
    int64_t reasoning;
} ik_usage_t;

#define IK_USAGE_NONE                                                                              \
    ((ik_usage_t){IK_USAGE_UNKNOWN, IK_USAGE_UNKNOWN, IK_USAGE_UNKNOWN, IK_USAGE_UNKNOWN,          \
                  IK_USAGE_UNKNOWN})

/* Whether any figure is known. */
bool ik_usage_known(const ik_usage_t *usage);
/* Adds the known figures of more to sum. */
void ik_usage_add(ik_usage_t *sum, const ik_usage_t *more);
/* Reads what ik_usage_format wrote; a figure that is not a count is unknown. */
ik_usage_t ik_usage_parse(ik_json_span_t object);
/* Appends a JSON object with the known figures: {"in":40,"cached":32,"out":6}. */
void ik_usage_format(ik_buffer_t *out, const ik_usage_t *usage);
/* Appends such an object with "cost_usd" in it; a negative cost is not known. */
void ik_usage_format_cost(ik_buffer_t *out, const ik_usage_t *usage, double cost);

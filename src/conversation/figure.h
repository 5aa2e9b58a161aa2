/* Figures of a session as people and programs read them; by value, so that a table of thousands
 * allocates none. */
#pragma once

#include <stdint.h>

#include "conversation/usage.h"

typedef struct {
    char text[32];
} ik_figure_t;

/* How long ago, in one unit: 40s, 2m, 3h, 5d, 2w, 1y. */
ik_figure_t ik_figure_of_age(int64_t then_us, int64_t now_us);
/* In and out together: 812, 12.3k, 4.5M; "-" when they are not known. */
ik_figure_t ik_figure_of_tokens(const ik_usage_t *usage);
/* $0.0123; "-" when it is not known. */
ik_figure_t ik_figure_of_cost(double cost);
ik_figure_t ik_figure_of_count(int64_t count);

/* 2026-03-01 14:05:09, where the user is. */
ik_figure_t ik_figure_of_local_time(int64_t us);
/* 2026-03-01T13:05:09.123456Z: RFC 3339. */
ik_figure_t ik_figure_of_time(int64_t us);

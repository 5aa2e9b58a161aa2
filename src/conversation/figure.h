/*
 * Numbers as people read them: ages, counts, tokens, costs, sizes, durations and times. Every
 * screen, command and export formats them here, so that a figure looks the same wherever it is
 * shown. Figures are returned by value: a table of thousands of rows allocates none. A figure that
 * is not known is "-".
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "conversation/usage.h"

typedef struct {
    char text[32];
} ik_figure_t;

/* "1,234"; "-" when negative. */
ik_figure_t ik_figure_of_count(int64_t count);
/* Tokens in and out together, in three digits or so: 812, 12.3k, 4.5M. */
ik_figure_t ik_figure_of_tokens(const ik_usage_t *usage);
/* The size of a context window: 200k, 1M, 1.5M. */
ik_figure_t ik_figure_of_window(int64_t tokens);
/* "12,345 in (12,000 cached), 678 out", on ctx; "" when no figure is known. */
char *ik_figure_format_usage(const void *ctx, const ik_usage_t *usage);
/* US dollars: "$1.23", and "$0.0012" below one cent. */
ik_figure_t ik_figure_of_cost(double cost);
/* "9 bytes", "12 KB", "3.4 MB" */
ik_figure_t ik_figure_of_size(size_t bytes);

/* "34 ms", "2.5 s", "3 min 20 s" */
ik_figure_t ik_figure_of_duration(int64_t ms);
/* The time since then in one unit: 40s, 2m, 3h, 5d, 2w, 1y. */
ik_figure_t ik_figure_of_age(int64_t then_us, int64_t now_us);

/* Microseconds since 1970 as a date. Years outside 1000 to 9999 give "". */
ik_figure_t ik_figure_of_local_time(int64_t us); /* 2026-03-01 14:05:09, in the user's time zone */
ik_figure_t ik_figure_of_utc_minute(int64_t us); /* 2026-03-01 13:05 UTC */
ik_figure_t ik_figure_of_utc_second(int64_t us); /* 2026-03-01T13:05:09Z */
ik_figure_t ik_figure_of_utc_time(int64_t us);   /* 2026-03-01T13:05:09.123456Z: RFC 3339 */

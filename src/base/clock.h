/* The monotonic clock, for timeouts: setting the time of day does not affect it. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline int64_t ik_clock_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The process that asked for a state, so that a state is not removed while that process runs and
 * has not recorded it yet. */
#pragma once

#include <stdint.h>

/* When a process was started, in the kernel's ticks; 0 when it does not exist. */
int64_t ik_taker_start_time(int64_t pid);

/* Reading text one character at a time. */
#pragma once

#include <stdint.h>

/* The character at *at (before end), which moves behind it. A byte that is no part of valid UTF-8
 * is taken by itself, as its own value. */
uint32_t ik_code_point_take(const char **at, const char *end);

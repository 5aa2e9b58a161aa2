/* Reading text one character at a time. */
#pragma once

#include <stdint.h>

/* Returns the character at *at, which must be before end, and advances *at past it. A byte that is
 * not part of valid UTF-8 counts as a character with that byte's value. */
uint32_t ik_code_point_take(const char **at, const char *end);

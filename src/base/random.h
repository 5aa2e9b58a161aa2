/* Random numbers from the kernel. */
#pragma once

#include <stdint.h>

uint64_t ik_random(void);
/* That many letters and digits, and the NUL, into out. */
void ik_random_name(char *out, int len);

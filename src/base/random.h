/* Random numbers from the kernel. */
#pragma once

#include <stdint.h>

uint64_t ik_random(void);
/* Writes len random letters and digits and a NUL to out. */
void ik_random_name(char *out, int len);

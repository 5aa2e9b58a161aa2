/* The words of what a user typed after a command: split at white space outside of "…" and '…',
 * without the quotes. An unclosed quote extends to the end. */
#pragma once

#include <stddef.h>

/* On ctx. */
char **ik_argument_words_split(const void *ctx, const char *text, size_t *count);

/*
 * Markdown of the manual for a screen. A table whose first columns would leave little room for the
 * last one, where the words are, becomes a list: an item per row, its words below its first cell.
 * A link to another chapter becomes its words, or, where those are the file's name, the command
 * that shows it.
 */
#pragma once

#include <stddef.h>

/* The same text for so many columns, on ctx. */
char *ik_cli_manual_fit(const void *ctx, const char *markdown, size_t columns);

/*
 * Adapts the manual's Markdown to its reader. On a narrow screen, a table whose first columns leave
 * too little room for the last one becomes a list: one item per row, the last cell below the first.
 * For man pages every table becomes a definition list. A link to another chapter becomes its text,
 * or, when the text is the file name, the command that shows the chapter.
 */
#pragma once

#include <stddef.h>

/* For a screen of that many columns; the result is on ctx. */
char *ik_cli_manual_fit(const void *ctx, const char *markdown, size_t columns);
/* For a man page; the result is on ctx. */
char *ik_cli_manual_define(const void *ctx, const char *markdown);

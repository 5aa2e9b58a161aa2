/* Properties of standard output, for commands that print for people. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Columns of the terminal; 0 if standard output is not a terminal. */
size_t ik_cli_terminal_columns(void);
/* Whether text may be bold and coloured: on a terminal that is not dumb, unless NO_COLOR is set. */
bool ik_cli_terminal_has_styles(void);

/* What standard output is, for commands that print for people. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Columns of the terminal; 0 when it is none. */
size_t ik_cli_terminal_columns(void);
/* Whether words may be bold and coloured: on a terminal that understands it, unless NO_COLOR is
 * set. */
bool ik_cli_terminal_has_styles(void);

/* What the user wants: the prompt of the command line, and what is piped in behind it. */
#pragma once

#include "base/error.h"

enum { IK_HEADLESS_INPUT_MAX = 16 * 1024 * 1024 };

/* Reads standard input to its end unless it is a terminal or a device. prompt may be NULL. The
 * result is UTF-8 and not blank, or an error says what is missing. */
res_t ik_headless_input_read(const void *ctx, const char *prompt, char **out);

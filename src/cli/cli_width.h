/*
 * Text in columns of a terminal. What is foreign is made harmless on the way, as print.h does it
 * and beyond: characters that are not seen but change how the rest of the line looks (directions,
 * tags) are shown as U+FFFD, too.
 */
#pragma once

#include <stddef.h>

#include "base/buffer.h"

#define IK_CLI_WIDTH_UNLIMITED SIZE_MAX

/* Which end of a text stays when there is no room for all of it. */
typedef enum { IK_CLI_KEEP_START, IK_CLI_KEEP_END } ik_cli_keep_t;

/* How many columns text takes, as one line. */
size_t ik_cli_width(const char *text);
/* Appends at most max columns of text, with … in the place of what is left out, and returns how
 * many they are. */
size_t ik_cli_width_append(ik_buffer_t *out, const char *text, size_t max, ik_cli_keep_t keep);

/* Of the terminal that standard output is; IK_CLI_WIDTH_UNLIMITED when it is none. */
size_t ik_cli_width_of_terminal(void);

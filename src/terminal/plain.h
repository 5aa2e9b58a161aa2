/*
 * Line-based input and output on a terminal or a pipe, for screen readers, TERM=dumb and scripts.
 * The terminal's own line editing applies. A backslash at the end of a line continues it on the
 * next.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "io/loop.h"

typedef struct ik_plain ik_plain_t;

/* line is NULL at the end of input. */
typedef void (*ik_plain_line_fn)(void *data, const char *line);
typedef void (*ik_plain_signal_fn)(void *data, int signal);

ik_plain_t *ik_plain_create(const void *ctx, ik_loop_t *loop, ik_plain_line_fn on_line,
                            ik_plain_signal_fn on_signal, void *data);
int ik_plain_columns(const ik_plain_t *plain);
/* Blocks until everything is written. */
void ik_plain_write(ik_plain_t *plain, const char *bytes, size_t len);
/* Switches the terminal's echo off, for a secret, or on again, as freeing it does. While the
 * program is stopped, the echo is on. */
void ik_plain_hide_input(ik_plain_t *plain, bool hide);
/* Writes the prompt of the next line. */
void ik_plain_prompt(ik_plain_t *plain, const char *prompt);

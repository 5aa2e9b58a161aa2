/*
 * The terminal, or a pipe, as lines: for screen readers, for TERM=dumb and for scripts. Lines are
 * read as the terminal's own line editing gives them; a backslash at the end of a line goes on with
 * the next one.
 */
#pragma once

#include <stddef.h>

#include "io/loop.h"

typedef struct ik_plain ik_plain_t;

/* line is NULL at the end of input. */
typedef void (*ik_plain_line_fn)(void *data, const char *line);
typedef void (*ik_plain_signal_fn)(void *data, int signal);

ik_plain_t *ik_plain_create(const void *ctx, ik_loop_t *loop, ik_plain_line_fn on_line,
                            ik_plain_signal_fn on_signal, void *data);
int ik_plain_columns(const ik_plain_t *plain);
/* Waits for whoever reads: rows are not lost. */
void ik_plain_write(ik_plain_t *plain, const char *bytes, size_t len);
/* Shown when the next line is wanted. */
void ik_plain_prompt(ik_plain_t *plain, const char *prompt);

/*
 * The row of the live area that says what is going on, since when, and which key interrupts it:
 * "⠋ Thinking · 12 s · esc to interrupt". It is never wider than the screen.
 */
#pragma once

#include "terminal/row.h"

typedef struct {
    const char *what;
    ik_role_t role;     /* of what */
    int64_t elapsed_ms; /* since it began */
    int64_t silent_ms;  /* since anything was received; negative: nothing is being received */
} ik_repl_working_t;

/* Fills an empty row. On a narrow screen the end of `what` is cut, then parts are left out; the key
 * stays longest. */
void ik_repl_working_draw(ik_row_t *row, const ik_repl_working_t *working, const char *spinner,
                          int columns);

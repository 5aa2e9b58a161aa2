/*
 * The tool calls of one agent in the live area: for a running call a row with the elapsed time and
 * the last lines of its progress, for a waiting call a row with the reason.
 */
#pragma once

#include "agent/shared.h"
#include "repl/repl_rows.h"
#include "terminal/view.h"

/* Whether the call is of a shipped tool that changes a file. */
bool ik_repl_running_is_change(const ik_repl_call_t *call);
/* Reads the file that such a call is about to change, for the diff; on ctx. */
void ik_repl_running_read_file(const void *ctx, ik_repl_call_t *call, const char *folder);

typedef struct ik_repl_running ik_repl_running_t;

ik_repl_running_t *ik_repl_running_create(const void *ctx);
/* Adds a call that waits. call is a message of kind tool_call, here and below. */
void ik_repl_running_wait(ik_repl_running_t *running, const ik_shared_ctx_t *shared,
                          const ik_msg_t *call);
/* Marks a call as running, and adds it if necessary. */
void ik_repl_running_start(ik_repl_running_t *running, const ik_shared_ctx_t *shared,
                           const ik_msg_t *call);
void ik_repl_running_progress(ik_repl_running_t *running, const ik_msg_t *call, const char *text,
                              size_t len);
/* Prints a call with its result; false if the call is not in the list. */
bool ik_repl_running_show(ik_repl_running_t *running, const ik_rows_t *rows, const ik_msg_t *result,
                          size_t number);
void ik_repl_running_end(ik_repl_running_t *running, const ik_msg_t *result);
void ik_repl_running_clear(ik_repl_running_t *running);

/* Number of running calls. */
size_t ik_repl_running_count(const ik_repl_running_t *running);
void ik_repl_running_draw(const ik_repl_running_t *running, const ik_view_t *view, int max_rows,
                          ik_rows_fn on_row, void *data);
